import {
  ConnectionChange,
  ConnectionCredentialView,
  ConnectionList,
  ConnectionPath,
  ConnectionRequest,
  ConnectionView,
  HostAcceptance,
  HostKeyAcceptance,
  ListQuery,
  ReadQuery,
  refuse,
  SpecList,
  SpecsQuery,
  SshKeyRotationRequest,
  StatusView,
  type ConnectionName,
} from '@fairlead/contracts';
import { POSITIONS, type Positions } from '@fairlead/event-sourcing/jetstream';
import {
  Body,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  Inject,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Res,
} from '@nestjs/common';
import { Authenticated, RoleEverywhere } from '../access/access.js';
import { accept, shownSoon, showSeq, untilShown } from '../http/answers.js';
import { mayEverywhere } from '../access/identity.js';
import { FromCaller, FromExchange, type Caller, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { RefusalError, throwIfRefused } from '../http/refusal.error.js';
import { ConnectionAccess } from './connection.access.js';
import { ConnectionCommands } from './connections.commands.js';
import { connectionView, specList } from './connections.projection.js';
import { ConnectionQueries } from './connections.queries.js';
import { toSpecFilter } from './connections.rules.js';

@Controller(bothBases('connections'))
export class ConnectionsHttp {
  constructor(
    @Inject(ConnectionCommands) private readonly commands: ConnectionCommands,
    @Inject(ConnectionAccess) private readonly access: ConnectionAccess,
    @Inject(POSITIONS) private readonly positions: Positions,
    @Inject(ConnectionQueries) private readonly queries: ConnectionQueries,
  ) {}

  @Get()
  @Authenticated()
  @Documented({
    id: 'listConnections',
    tag: 'connections',
    records: 'nothing',
    summary: 'The connections to providers that namespaces of the caller may use',
    description: 'Settings, addresses and the words of providers are shown to administrators of all namespaces only.',
    answers: [{ status: 200, description: 'The connections, without their secrets', schema: ConnectionList }],
    refusals: ['list.continue-invalid', 'wait.seq-ahead', 'wait.too-long'],
  })
  async list(
    @Query({ schema: ListQuery }) { minSeq = 0, ...query }: ListQuery,
    @FromCaller() { identity }: Caller,
    @IsWhole() isWhole: boolean,
  ): Promise<ConnectionList> {
    await untilShown(this.positions, minSeq);
    const request = pageRequest('connections', query, isWhole);
    const items = await this.access.all(identity);
    return { kind: 'ConnectionList', ...pageOf(request, items, { keyOf: ({ name }) => name }) };
  }

  @Get(':connection')
  @Authenticated()
  @Documented({
    id: 'getConnection',
    tag: 'connections',
    records: 'nothing',
    summary: 'A connection',
    answers: [{ status: 200, description: 'The connection, without its secret', schema: ConnectionView }],
    refusals: ['connection.not-found', 'wait.seq-ahead', 'wait.too-long'],
  })
  async get(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
    @FromCaller() { identity }: Caller,
  ): Promise<ConnectionView> {
    await untilShown(this.positions, minSeq);
    return connectionView(await this.access.one(connection, identity), mayEverywhere(identity, 'admin'));
  }

  @Get(':connection/credential')
  @RoleEverywhere('admin')
  @Header('Cache-Control', 'no-store')
  @Documented({
    id: 'getConnectionCredential',
    tag: 'connections',
    records: 'access',
    summary: 'What a connection signs in with; reading it is recorded',
    answers: [{ status: 200, description: 'The credential', schema: ConnectionCredentialView }],
    refusals: ['connection.not-found', 'connection.no-credential', 'conflict.concurrent'],
  })
  async credential(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<ConnectionCredentialView> {
    const { seq, credential } = await this.commands.credential(connection, caller);
    showSeq(response, seq);
    return credential;
  }

  @Put(':connection')
  @RoleEverywhere('admin')
  @Documented({
    id: 'putConnection',
    tag: 'connections',
    records: 'work',
    summary: 'Register a connection, or replace its settings',
    description:
      'settings.token or settings.secret is sealed; only administrators of all namespaces can read it back, on record. Settings that the provider does not have are refused. What would put the machines of clusters out of reach is refused while they are there. infra-svc then asks the provider what it offers.',
    answers: [{ status: 200, description: 'It is registered', schema: ConnectionView }],
    refusals: [
      'connection.not-found',
      'connection.secret-in-settings',
      'connection.settings-invalid',
      'connection.host-name-invalid',
      'connection.host-repeated',
      'connection.api-address-taken',
      'connection.api-address-in-use',
      'connection.outside-network',
      'connection.api-endpoint-invalid',
      'connection.api-port-taken',
      'connection.api-ambiguous',
      'connection.provider-unknown',
      'connection.would-orphan',
      'connection.secret-again',
      'connection.key-foreign',
      'namespace.unknown',
      'connection.nats-unreachable',
      'conflict.concurrent',
    ],
  })
  async put(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @Body({ schema: ConnectionRequest }) request: ConnectionRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<ConnectionView> {
    return this.registered(connection, await this.commands.register(connection, request, caller), caller, response);
  }

  @Patch(':connection')
  @RoleEverywhere('admin')
  @Documented({
    id: 'patchConnection',
    tag: 'connections',
    records: 'work',
    summary: 'Change whose clusters may use a connection, or how much of it',
    description:
      'What is left out stays, as do settings and secret; null removes a limit of the quota. Changes at the same time are all kept.',
    answers: [{ status: 200, description: 'It is registered', schema: ConnectionView }],
    refusals: ['connection.not-found', 'namespace.unknown', 'conflict.concurrent'],
  })
  async patch(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @Body({ schema: ConnectionChange }) change: ConnectionChange,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<ConnectionView> {
    return this.registered(connection, await this.commands.change(connection, change, caller), caller, response);
  }

  private async registered(
    connection: ConnectionName,
    { seq }: { readonly seq: number },
    caller: Caller,
    response: HttpResponse,
  ): Promise<ConnectionView> {
    accept(response, { seq, location: `/connections/${connection}`, status: 200, waited: false });
    const isShown = await shownSoon(this.positions, seq);
    const doc = isShown ? await this.access.one(connection, caller.identity) : await this.queries.recorded(connection);
    if (doc === undefined) throw new RefusalError(refuse('connection.not-found', { connection }));
    return connectionView(doc, true);
  }

  @Post(':connection/verify')
  @HttpCode(202)
  @RoleEverywhere('operator')
  @KeyedCommand()
  @Documented({
    id: 'verifyConnection',
    tag: 'connections',
    records: 'work',
    summary: 'Look again at what a connection offers',
    description: 'Hosts of an inventory that were kept out because they could not be reset are reset, and free again.',
    answers: [{ status: 202, description: 'It will be looked at', schema: StatusView }],
    refusals: ['connection.not-found', ...CHANGE_REFUSALS],
  })
  async verify(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const { seq } = await this.commands.verify(connection, caller);
    accept(response, { seq, location: `/connections/${connection}`, status: 202, waited: false });
    return { kind: 'Status', code: 202, message: `Connection '${connection}' will be looked at.` };
  }

  @Post(':connection/accept-host-key')
  @HttpCode(202)
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'acceptHostKey',
    tag: 'connections',
    records: 'work',
    summary: 'Accept the SSH host key of a host of an inventory, or of its jump host',
    description:
      'From here on the server has to show this key; until then every other than the one that was pinned is refused. A key that the settings name counts more, and is changed there. Compare it on the host itself first: a machine in between shows a new key, too.',
    answers: [
      { status: 202, description: 'It is the key that counts, and the hosts are looked at again', schema: StatusView },
    ],
    refusals: [
      'connection.not-found',
      'connection.host-unknown',
      'connection.host-key-in-settings',
      ...CHANGE_REFUSALS,
    ],
  })
  async acceptHostKey(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @Body({ schema: HostKeyAcceptance }) request: HostKeyAcceptance,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const { seq } = await this.commands.acceptHostKey(connection, request, caller);
    accept(response, { seq, location: `/connections/${connection}`, status: 202, waited: false });
    const server = request.host ?? 'the jump host';
    return { kind: 'Status', code: 202, message: `${request.hostKey} is the host key of ${server} from now on.` };
  }

  @Post(':connection/accept-host')
  @HttpCode(202)
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'acceptHost',
    tag: 'connections',
    records: 'work',
    summary: 'Accept a host of an inventory as it is, e.g. after it was reinstalled',
    description:
      'A host that was kept out is free, and one that another namespace used last is free for every namespace that the connection is granted to. Nothing is done to the host.',
    answers: [{ status: 202, description: 'It will be free', schema: StatusView }],
    refusals: ['connection.not-found', 'connection.host-unknown', 'stock.host-in-use', ...CHANGE_REFUSALS],
  })
  async acceptHost(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @Body({ schema: HostAcceptance }) { host }: HostAcceptance,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const { seq } = await this.commands.acceptHost(connection, host, caller);
    accept(response, { seq, location: `/connections/${connection}`, status: 202, waited: false });
    return { kind: 'Status', code: 202, message: `Host '${host}' is accepted as it is.` };
  }

  @Post(':connection/ssh-key/rotate')
  @HttpCode(202)
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'rotateSshKey',
    tag: 'connections',
    records: 'work',
    summary: 'Rotate the SSH key of a connection on every host that has it',
    description:
      'New machines get a new key; on existing hosts it is added, proved by a login, and the former one removed. A host that is off is tried again until it answers. The former key is destroyed once no host needs it. GET /connections/{connection} shows the progress. With force, the rotation that is under way ends now, and hosts that have only the former key cannot be reached any more.',
    answers: [{ status: 202, description: 'It will be rotated', schema: StatusView }],
    refusals: [
      'connection.not-found',
      'connection.ssh-key-own',
      'connection.ssh-key-none',
      'connection.ssh-key-rotating',
      'connection.ssh-key-not-rotating',
      ...CHANGE_REFUSALS,
    ],
  })
  async rotateSshKey(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @Body({ schema: SshKeyRotationRequest }) request: SshKeyRotationRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const { seq } = await this.commands.rotateSshKey(connection, request, caller);
    accept(response, { seq, location: `/connections/${connection}`, status: 202, waited: false });
    const does = request.force === true ? 'will end, and the former key will be destroyed' : 'was requested';
    return { kind: 'Status', code: 202, message: `The rotation of the SSH key of '${connection}' ${does}.` };
  }

  @Delete(':connection')
  @HttpCode(200)
  @RoleEverywhere('admin')
  @Documented({
    id: 'deleteConnection',
    tag: 'connections',
    records: 'end',
    summary: 'Remove a connection that no cluster uses',
    answers: [{ status: 200, description: 'It is gone, and its secret too', schema: StatusView }],
    refusals: ['connection.not-found', 'connection.in-use', 'conflict.concurrent'],
  })
  async delete(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const { seq } = await this.commands.remove(connection, caller);
    showSeq(response, seq);
    return { kind: 'Status', code: 200, message: `Connection '${connection}' is removed.` };
  }
}

/** CB-Ladybug's list of specs. */
@Controller(bothBases('mcir/connections/:connection/specs'))
export class SpecsHttp {
  constructor(@Inject(ConnectionAccess) private readonly access: ConnectionAccess) {}

  @Get()
  @Authenticated()
  @Documented({
    id: 'listSpecs',
    tag: 'connections',
    records: 'nothing',
    summary: 'The machine sizes that a connection offers',
    answers: [{ status: 200, description: 'The specs, as the provider last offered them', schema: SpecList }],
    refusals: ['spec-list.number', 'spec-list.range', 'connection.not-found', 'spec-list.unverified'],
  })
  async list(
    @Param({ schema: ConnectionPath }) { connection }: ConnectionPath,
    @Query({ schema: SpecsQuery }) query: SpecsQuery,
    @FromCaller() { identity }: Caller,
  ): Promise<SpecList> {
    const filter = toSpecFilter(query);
    if ('length' in filter) {
      throwIfRefused(filter);
      throw new Error('a filter was refused without a reason');
    }
    const doc = await this.access.one(connection, identity);
    if (doc.offer === null) throw new RefusalError(refuse('spec-list.unverified', { connection }));
    return specList(connection, doc.offer, filter);
  }
}
