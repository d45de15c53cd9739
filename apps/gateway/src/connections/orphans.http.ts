import { ConnectionPath, ListQuery, OrphanList, OrphanPath, StatusView } from '@fairlead/contracts';
import { POSITIONS, type Positions } from '@fairlead/event-sourcing/jetstream';
import { Controller, Delete, Get, HttpCode, Inject, Param, Query, Res } from '@nestjs/common';
import { RoleEverywhere } from '../access/access.js';
import { accept, untilShown } from '../http/answers.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { ConnectionAccess } from './connection.access.js';
import { ConnectionCommands } from './connections.commands.js';

/** Machines of a connection that no cluster has planned. */
@Controller(bothBases('connections/:connection/orphans'))
export class OrphansHttp {
  constructor(
    @Inject(ConnectionCommands) private readonly commands: ConnectionCommands,
    @Inject(ConnectionAccess) private readonly access: ConnectionAccess,
    @Inject(POSITIONS) private readonly positions: Positions,
  ) {}

  @Get()
  @RoleEverywhere('admin')
  @Documented({
    id: 'listOrphans',
    tag: 'connections',
    records: 'nothing',
    summary: 'The orphaned machines of a connection',
    description:
      'Machines that the provider lists with the marks of this connection, and that no cluster has planned. They are never deleted automatically.',
    answers: [{ status: 200, description: 'The machines, as they were found', schema: OrphanList }],
    refusals: ['connection.not-found', 'list.continue-invalid', 'wait.seq-ahead', 'wait.too-long'],
  })
  async list(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @Query({ schema: ListQuery }) { minSeq = 0, ...query }: ListQuery,
    @FromCaller() { identity }: Caller,
    @IsWhole() isWhole: boolean,
  ): Promise<OrphanList> {
    await untilShown(this.positions, minSeq);
    const request = pageRequest(`connections/${connection}/orphans`, query, isWhole);
    const { orphans = {} } = await this.access.one(connection, identity);
    const items = Object.values(orphans).sort((one, other) => (one.id < other.id ? -1 : 1));
    return { kind: 'OrphanList', ...pageOf(request, items, { keyOf: ({ id }) => id }) };
  }

  @Delete(':orphan')
  @HttpCode(202)
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'deleteOrphan',
    tag: 'connections',
    records: 'end',
    summary: 'Delete an orphaned machine',
    description:
      'The provider and the log are asked again first. A machine that a cluster has planned by then stays, and the list says so.',
    answers: [{ status: 202, description: 'It will be checked again and deleted', schema: StatusView }],
    refusals: ['connection.not-found', 'connection.orphan-unknown', ...CHANGE_REFUSALS],
  })
  async delete(
    @Param({ schema: OrphanPath }) { connection, orphan }: OrphanPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const { seq } = await this.commands.removeOrphan(connection, orphan, caller);
    accept(response, { seq, location: `/connections/${connection}/orphans`, status: 202, waited: false });
    return { kind: 'Status', code: 202, message: `Machine '${orphan}' will be checked again and deleted.` };
  }
}
