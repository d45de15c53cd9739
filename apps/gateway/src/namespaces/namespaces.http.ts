import {
  Namespace,
  NamespaceList,
  NamespacePath,
  NamespaceRequest,
  NamespaceView,
  namespaceStream,
  Quota,
  QuotaChange,
  ListQuery,
  ReadQuery,
  refuse,
} from '@fairlead/contracts';
import { HANDLE, POSITIONS, type Handle, type Positions } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Get, Inject, Param, Patch, Post, Put, Query, Res } from '@nestjs/common';
import { Authenticated, RoleEverywhere } from '../access/access.js';
import { mayIn } from '../access/identity.js';
import { accept, shownSoon, showSeq, untilShown } from '../http/answers.js';
import { causeOf, FromCaller, FromExchange, type Caller, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import type { HttpResponse } from '../http/http.types.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { IN_NAMESPACE, ReadRoute } from '../http/read.routes.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { namespaces, type ChangeQuota, type SetQuota } from './namespaces.decider.js';
import { namespacesProjection, namespaceView } from './namespaces.projection.js';
import { NamespaceQueries } from './namespaces.queries.js';

@Controller(bothBases('ns'))
export class NamespacesHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(POSITIONS) private readonly positions: Positions,
    @Inject(NamespaceQueries) private readonly queries: NamespaceQueries,
  ) {}

  @Get()
  @Authenticated()
  @Documented({
    id: 'listNamespaces',
    tag: 'namespaces',
    records: 'nothing',
    summary: 'The namespaces that the caller may see',
    answers: [{ status: 200, description: 'The namespaces', schema: NamespaceList }],
    refusals: ['list.continue-invalid', 'wait.seq-ahead', 'wait.too-long'],
  })
  async list(
    @Query({ schema: ListQuery }) { minSeq = 0, ...query }: ListQuery,
    @FromCaller() { identity }: Caller,
    @IsWhole() isWhole: boolean,
  ): Promise<NamespaceList> {
    await untilShown(this.positions, minSeq);
    const visible = (await this.queries.all()).filter(({ name }) => mayIn(identity, 'viewer', name));
    const request = pageRequest('namespaces', query, isWhole);
    return { kind: 'NamespaceList', ...pageOf(request, visible.map(namespaceView), { keyOf: ({ name }) => name }) };
  }

  @Post()
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'createNamespace',
    tag: 'namespaces',
    records: 'work',
    summary: 'Create a namespace',
    answers: [{ status: 201, description: 'It exists', schema: NamespaceView }],
    refusals: ['namespace.name-invalid', 'namespace.exists', ...CHANGE_REFUSALS],
  })
  async create(
    @Body({ schema: NamespaceRequest }) { name: given, description }: NamespaceRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<NamespaceView> {
    const parsed = Namespace.safeParse(given);
    if (!parsed.success) throw new RefusalError(refuse('namespace.name-invalid', { name: given }, 'name'));
    const name = parsed.data;
    const command = { type: 'CreateNamespace', data: { name, description } } as const;
    const { events, seq } = unwrap(await this.handle(namespaces, namespaceStream(name), command, causeOf(caller)));
    accept(response, { seq, location: `/ns/${name}`, status: 201, waited: false });
    // So that the roles given next open something at once.
    await shownSoon(this.positions, seq);
    const doc = events[0] && namespacesProjection.evolve(undefined, events[0], name);
    if (doc === undefined) throw new Error(`creating namespace ${name} decided nothing`);
    return namespaceView(doc);
  }

  @ReadRoute(':namespace', {
    id: 'getNamespace',
    tag: 'namespaces',
    summary: 'A namespace',
    answer: 'The namespace',
    schema: NamespaceView,
    refusals: IN_NAMESPACE,
  })
  async get(
    @Param({ schema: NamespacePath }) { namespace }: NamespacePath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<NamespaceView> {
    await untilShown(this.positions, minSeq);
    const doc = await this.queries.one(namespace);
    if (doc === undefined) throw new RefusalError(refuse('namespace.unknown', { namespace }));
    return namespaceView(doc);
  }

  @Put(':namespace/quota')
  @RoleEverywhere('admin')
  @Documented({
    id: 'putNamespaceQuota',
    tag: 'namespaces',
    records: 'work',
    summary: 'Set the most that the clusters of a namespace may take together',
    description: 'It replaces what was set before; a limit that is left out is none. What there is already stays.',
    answers: [{ status: 200, description: 'The namespace', schema: NamespaceView }],
    refusals: ['namespace.unknown', 'conflict.concurrent', 'wait.too-long'],
  })
  async setQuota(
    @Param({ schema: NamespacePath }) { namespace: name }: NamespacePath,
    @Body({ schema: Quota }) quota: Quota,
    @FromExchange() exchange: Exchange,
  ): Promise<NamespaceView> {
    return this.bound({ type: 'SetQuota', data: { name, quota } }, exchange);
  }

  @Patch(':namespace/quota')
  @RoleEverywhere('admin')
  @Documented({
    id: 'patchNamespaceQuota',
    tag: 'namespaces',
    records: 'work',
    summary: 'Change some limits of a namespace',
    description: 'A limit that is left out stays, and null removes one. Changes at the same time are all kept.',
    answers: [{ status: 200, description: 'The namespace', schema: NamespaceView }],
    refusals: ['namespace.unknown', 'conflict.concurrent', 'wait.too-long'],
  })
  async changeQuota(
    @Param({ schema: NamespacePath }) { namespace: name }: NamespacePath,
    @Body({ schema: QuotaChange }) change: QuotaChange,
    @FromExchange() exchange: Exchange,
  ): Promise<NamespaceView> {
    return this.bound({ type: 'ChangeQuota', data: { name, change } }, exchange);
  }

  private async bound(command: SetQuota | ChangeQuota, { caller, response }: Exchange): Promise<NamespaceView> {
    const { name } = command.data;
    const { seq } = unwrap(await this.handle(namespaces, namespaceStream(name), command, causeOf(caller)));
    showSeq(response, seq);
    await untilShown(this.positions, seq);
    const doc = await this.queries.one(name);
    if (doc === undefined) throw new RefusalError(refuse('namespace.unknown', { namespace: name }));
    return namespaceView(doc);
  }
}
