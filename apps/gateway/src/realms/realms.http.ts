import {
  ListQuery,
  NamespacePath,
  ReadQuery,
  RealmCredentialView,
  RealmDeletionQuery,
  RealmList,
  RealmPath,
  RealmRequest,
  RealmView,
  refuse,
  StatusView,
} from '@fairlead/contracts';
import { POSITIONS, type Positions } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Delete, Get, Header, HttpCode, Inject, Param, Put, Query } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { accept, showSeq, untilShown } from '../http/answers.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { IN_NAMESPACE, ListRoute, ReadRoute } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { RealmCommands } from './realms.commands.js';
import { RealmQueries } from './realms.queries.js';

@Controller(bothBases('ns/:namespace/realms'))
export class RealmsHttp {
  constructor(
    @Inject(RealmCommands) private readonly commands: RealmCommands,
    @Inject(POSITIONS) private readonly positions: Positions,
    @Inject(RealmQueries) private readonly queries: RealmQueries,
  ) {}

  @ListRoute('', {
    id: 'listRealms',
    tag: 'namespaces',
    summary: 'The identity realms of a namespace',
    answer: 'The realms, without their credentials',
    schema: RealmList,
    refusals: IN_NAMESPACE,
  })
  async list(
    @Param({ schema: NamespacePath }) { namespace }: NamespacePath,
    @Query({ schema: ListQuery }) { minSeq = 0, ...query }: ListQuery,
    @IsWhole() isWhole: boolean,
  ): Promise<RealmList> {
    await untilShown(this.positions, minSeq);
    const items = await this.queries.all(namespace);
    if (items === undefined) throw new RefusalError(refuse('namespace.unknown', { namespace }));
    const request = pageRequest(`realms of ${namespace}`, query, isWhole);
    return { kind: 'RealmList', ...pageOf(request, [...items], { keyOf: ({ name }) => name }) };
  }

  @ReadRoute(':realm', {
    id: 'getRealm',
    tag: 'namespaces',
    summary: 'An identity realm',
    answer: 'The realm, without its credential',
    schema: RealmView,
    refusals: ['realm.not-found'],
  })
  async get(
    @Param({ schema: RealmPath }) path: RealmPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<RealmView> {
    await untilShown(this.positions, minSeq);
    return this.shown(path);
  }

  @Get(':realm/credential')
  @RoleInNamespace('admin')
  @Header('Cache-Control', 'no-store')
  @Documented({
    id: 'getRealmCredential',
    tag: 'namespaces',
    records: 'access',
    summary: 'The client with which Fairlead administers an identity realm; reading it is recorded',
    answers: [{ status: 200, description: 'The credential', schema: RealmCredentialView }],
    refusals: ['namespace.unknown', 'realm.not-found', 'conflict.concurrent'],
  })
  async credential(
    @Param({ schema: RealmPath }) path: RealmPath,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<RealmCredentialView> {
    const { seq, credential } = await this.commands.credential(path, caller);
    showSeq(response, seq);
    return credential;
  }

  @Put(':realm')
  @RoleInNamespace('admin')
  @Documented({
    id: 'putRealm',
    tag: 'namespaces',
    records: 'work',
    summary: 'Register an identity realm, or replace its settings',
    description:
      'clientSecret is sealed; only administrators of the namespace can read it back, on record. infra-svc then creates the realm if that is requested, and looks whether it is ready; clusters that wait for it go on by themselves.',
    answers: [{ status: 200, description: 'It is registered', schema: RealmView }],
    refusals: [
      'namespace.unknown',
      'realm.not-found',
      'realm.issuer-invalid',
      'realm.not-creatable',
      'realm.ca-invalid',
      'realm.secret-missing',
      'realm.would-move',
      'realm.too-many',
      'conflict.concurrent',
      'wait.too-long',
    ],
  })
  async put(
    @Param({ schema: RealmPath }) path: RealmPath,
    @Body({ schema: RealmRequest }) request: RealmRequest,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<RealmView> {
    const { seq } = await this.commands.register(path, request, caller);
    const location = `/ns/${path.namespace}/realms/${path.realm}`;
    accept(response, { seq, location, status: 200, waited: false });
    await untilShown(this.positions, seq);
    return this.shown(path);
  }

  @Delete(':realm')
  @HttpCode(200)
  @RoleInNamespace('admin')
  @Documented({
    id: 'deleteRealm',
    tag: 'namespaces',
    records: 'end',
    summary: 'Delete an identity realm that no cluster uses',
    description: 'Nothing is deleted at the identity provider, also not a realm that Fairlead created.',
    answers: [{ status: 200, description: 'It is gone, and its credential too', schema: StatusView }],
    refusals: ['namespace.unknown', 'realm.not-found', 'realm.in-use', 'conflict.concurrent'],
  })
  async delete(
    @Param({ schema: RealmPath }) path: RealmPath,
    @Query({ schema: RealmDeletionQuery }) { force }: RealmDeletionQuery,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<StatusView> {
    const { seq } = await this.commands.remove(path, force === 'true', caller);
    showSeq(response, seq);
    return { kind: 'Status', code: 200, message: `Realm '${path.realm}' is deleted.` };
  }

  private async shown({ namespace, realm }: RealmPath): Promise<RealmView> {
    const view = await this.queries.one(namespace, realm);
    if (view === undefined) throw new RefusalError(refuse('realm.not-found', { namespace, realm }));
    return view;
  }
}
