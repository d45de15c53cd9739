import {
  ClusterTemplateList,
  ClusterTemplateManifest,
  ClusterTemplateView,
  ManifestQuery,
  NamespacePath,
  ReadQuery,
  refuse,
  StatusView,
  TemplatePath,
  type RefusalCode,
} from '@fairlead/contracts';
import { POSITIONS, type Positions } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Delete, HttpCode, Inject, Param, Put, Query } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { accept, showSeq, untilShown } from '../http/answers.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import { IN_NAMESPACE, ReadRoute } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { TemplateCommands } from './templates.commands.js';
import { TemplateQueries } from './templates.queries.js';
import { TemplateUsers } from './template.users.js';
import { appliedTemplateView, templateView } from './templates.view.js';

/** Why no cluster could be made of a template. */
const VALUE_REFUSALS: readonly RefusalCode[] = [
  'cluster.version-unknown',
  'cluster.version-withdrawn',
  'cluster.control-plane-even',
  'cluster.control-plane-count',
  'cluster.control-plane-too-many',
  'cluster.etcd-external-count',
  'cluster.single-connection',
  'cluster.cni-multi',
  'cluster.cni-single',
  'cluster.pod-cidr',
  'cluster.service-cidr',
  'cluster.service-cidr-size',
  'cluster.cidr-special',
  'cluster.cidr-host-bits',
  'cluster.cidr-overlap',
  'cluster.dns-domain',
  'cluster.nfs-server',
  'cluster.nfs-path',
  'pool.rollout-blocked',
  'health.duration',
  'health.two-limits',
  'health.range',
  'hook.name-taken',
  'hook.url-invalid',
  'hook.timeout',
  'drain.rule-twice',
  'drain.rule-order',
  'drain.detach-timeout',
  'etcd.schedule-invalid',
  'etcd.schedule-too-often',
  'etcd.keep-for-short',
  'firewall.rule-twice',
];

@Controller(bothBases('ns/:namespace/cluster-templates'))
export class TemplatesHttp {
  constructor(
    @Inject(TemplateCommands) private readonly commands: TemplateCommands,
    @Inject(TemplateQueries) private readonly queries: TemplateQueries,
    @Inject(TemplateUsers) private readonly users: TemplateUsers,
    @Inject(POSITIONS) private readonly positions: Positions,
  ) {}

  @ReadRoute('', {
    id: 'listClusterTemplates',
    tag: 'templates',
    summary: 'The cluster templates of a namespace',
    answer: 'The templates',
    schema: ClusterTemplateList,
    refusals: IN_NAMESPACE,
  })
  async list(
    @Param({ schema: NamespacePath }) { namespace }: NamespacePath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<ClusterTemplateList> {
    await untilShown(this.positions, minSeq);
    const rows = await this.queries.all(namespace);
    if (rows === undefined) throw new RefusalError(refuse('namespace.unknown', { namespace }));
    return { kind: 'ClusterTemplateList', items: rows.map((row) => templateView(namespace, row)) };
  }

  @ReadRoute(':template', {
    id: 'getClusterTemplate',
    tag: 'templates',
    summary: 'A cluster template, with the clusters that have it',
    answer: 'The template',
    schema: ClusterTemplateView,
    refusals: [...IN_NAMESPACE, 'template.unknown'],
  })
  async get(
    @Param({ schema: TemplatePath }) { namespace, template }: TemplatePath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<ClusterTemplateView> {
    await untilShown(this.positions, minSeq);
    const row = await this.queries.one(namespace, template);
    if (row === undefined) throw new RefusalError(refuse('template.unknown', { namespace, template }));
    return templateView(namespace, row);
  }

  @Put(':template')
  @RoleInNamespace('admin', 'viewer')
  @Documented({
    id: 'putClusterTemplate',
    tag: 'templates',
    records: 'work',
    summary: 'Apply a cluster template: create it, or change what may be changed of it',
    description:
      'Its values never change: an upgrade is another template. A manifest that says what is declared already changes nothing and records nothing. With dryRun=All everything is checked and nothing recorded, and the role viewer is enough.',
    answers: [
      { status: 200, description: 'It is as declared, or would be', schema: ClusterTemplateView },
      { status: 201, description: 'It is created', schema: ClusterTemplateView },
    ],
    refusals: [
      'namespace.unknown',
      'template.unknown',
      'template.manifest-address',
      'template.name-taken',
      'template.resource-version',
      'template.values-immutable',
      'template.too-many',
      ...VALUE_REFUSALS,
      'conflict.concurrent',
    ],
  })
  async put(
    @Param({ schema: TemplatePath }) path: TemplatePath,
    @Query({ schema: ManifestQuery }) { dryRun }: ManifestQuery,
    @Body({ schema: ClusterTemplateManifest }) manifest: ClusterTemplateManifest,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<ClusterTemplateView> {
    const options = { caller, dryRun: dryRun === 'All' };
    const { decided, template } = await this.commands.apply(path, manifest, options);
    const isCreated = decided.events.some(({ type }) => type === 'ClusterTemplateCreated');
    accept(response, {
      seq: decided.seq,
      location: `/ns/${path.namespace}/cluster-templates/${path.template}`,
      status: isCreated ? 201 : 200,
      waited: false,
    });
    return appliedTemplateView(path.namespace, template);
  }

  @Delete(':template')
  @HttpCode(200)
  @RoleInNamespace('admin')
  @Documented({
    id: 'deleteClusterTemplate',
    tag: 'templates',
    records: 'end',
    summary: 'Delete a cluster template that no cluster has',
    description:
      'It is deprecated first, so that no cluster chooses it meanwhile. Where one has chosen it at the same moment, it stays, deprecated.',
    answers: [{ status: 200, description: 'It is gone', schema: StatusView }],
    refusals: ['namespace.unknown', 'template.unknown', 'template.in-use', 'conflict.concurrent'],
  })
  async delete(
    @Param({ schema: TemplatePath }) path: TemplatePath,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<StatusView> {
    const usersOf = this.users.of(path, caller);
    const { seq } = await this.commands.delete(path, usersOf, caller);
    showSeq(response, seq);
    return { kind: 'Status', code: 200, message: `The template '${path.template}' is deleted.` };
  }
}
