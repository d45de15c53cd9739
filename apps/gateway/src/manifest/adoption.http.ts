import { adoptionFault, OrphanAdoption, OrphanPath, refuse, StatusView } from '@fairlead/contracts';
import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { RoleEverywhere } from '../access/access.js';
import { ConnectionAccess } from '../connections/connection.access.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { bothBases, CommandHeaders, Documented } from '../http/documented.js';
import { Idempotent } from '../http/idempotency.js';
import { RefusalError } from '../http/refusal.error.js';
import { CHANGE_REFUSALS, ChangeAnswers } from './change.answers.js';
import { ManifestCommands } from './manifest.commands.js';

/** Machines of a connection that no cluster has planned become nodes of a pool. */
@Controller(bothBases('connections/:connection/orphans/:orphan/adopt'))
export class AdoptionHttp {
  constructor(
    @Inject(ManifestCommands) private readonly commands: ManifestCommands,
    @Inject(ConnectionAccess) private readonly access: ConnectionAccess,
    @Inject(ChangeAnswers) private readonly answers: ChangeAnswers,
  ) {}

  @Post()
  @RoleEverywhere('admin')
  @Idempotent()
  @CommandHeaders({ ends: true })
  @Documented({
    id: 'adoptOrphan',
    tag: 'connections',
    records: 'work',
    summary: 'Adopt an orphaned machine',
    description:
      'The machine becomes a node of a pool of workers, whose replicas grow by one. Before anything is changed, the provider and the machine itself are asked: it must run, have the machine type, image and zone of the pool, let the SSH key of the connection in, and be no Kubernetes node. Otherwise the operation is rejected, and machine and pool are as before.',
    answers: [
      { status: 202, description: 'The request is recorded; Location is the operation', schema: StatusView },
      { status: 200, description: 'With Prefer: wait=N: the operation has ended', schema: StatusView },
    ],
    refusals: [
      ...CHANGE_REFUSALS,
      'connection.not-found',
      'connection.adoption-unsupported',
      'connection.orphan-unknown',
      'connection.orphan-unfit',
      'pool.unknown',
      'pool.scale-out-of-bounds',
    ],
  })
  async adopt(
    @Param({ schema: OrphanPath }) { connection, orphan: id }: OrphanPath,
    @Body({ schema: OrphanAdoption }) { pool, ...address }: OrphanAdoption,
    @FromExchange() exchange: Exchange,
  ): Promise<StatusView> {
    const { registration, orphans = {} } = await this.access.one(connection, exchange.caller.identity);
    const fault = adoptionFault({ name: connection, provider: registration.provider });
    if (fault !== undefined) throw new RefusalError(fault);
    if (orphans[id] === undefined)
      throw new RefusalError(refuse('connection.orphan-unknown', { connection, orphan: id }));
    const applied = await this.commands.adopt({ ...address, pool }, { connection, id }, exchange.caller);
    const message = `Machine '${id}' will be checked, and becomes a node of pool ${pool} of ${address.namespace}/${address.cluster}.`;
    return this.answers.of(exchange, address, applied, { kind: 'Status', code: 202, message });
  }
}
