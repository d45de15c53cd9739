import {
  ClusterDraft,
  ClusterManifestView,
  ClusterPath,
  ClusterQuery,
  ManifestPatch,
  ManifestQuery,
  manifestJsonSchema,
  templateJsonSchema,
} from '@fairlead/contracts';
import { Body, Controller, Get, Inject, Param, Patch, Put, Query } from '@nestjs/common';
import { Authenticated } from '../access/access.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { clusterUnknown, CommandAnswers } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER, ReadRoute } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { CHANGE_REFUSALS, ChangeAnswers } from './change.answers.js';
import { ManifestCommands } from './manifest.commands.js';
import { appliedView } from './manifest.view.js';
import { PastManifests } from './past.manifests.js';

/** What a manifest of a new cluster may be refused with besides. */
const CREATE_REFUSALS = [
  'cluster.worker-missing',
  'cluster.single-node',
  'cluster.too-many-sets',
  'cluster.cni-multi',
  'cluster.cni-single',
  'cluster.etcd-external-count',
  'cluster.pod-cidr',
  'cluster.service-cidr',
  'cluster.service-cidr-size',
  'cluster.cidr-special',
  'cluster.cidr-host-bits',
  'cluster.cidr-overlap',
  'cluster.dns-domain',
  'cluster.nfs-server',
  'cluster.nfs-path',
  'cluster.version-unknown',
  'cluster.version-withdrawn',
  'cluster.control-plane-even',
  'stock.api-address-missing',
] as const;

const CHANGES = [
  { status: 200, description: 'Nothing has to be done, or a dry run', schema: ClusterManifestView },
  { status: 202, description: 'The change is recorded; Location is its first operation', schema: ClusterManifestView },
] as const;

const DRY_RUN =
  'With dryRun=All everything is checked and nothing recorded, and the role viewer is enough: `plan` is what would be done. With metadata.resourceVersion the change is refused when the cluster has changed since it was read.';

@Controller(bothBases('ns/:namespace/clusters/:cluster/manifest'))
export class ManifestHttp {
  constructor(
    @Inject(ManifestCommands) private readonly commands: ManifestCommands,
    @Inject(PastManifests) private readonly manifests: PastManifests,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
    @Inject(ChangeAnswers) private readonly changes: ChangeAnswers,
  ) {}

  @ReadRoute('', {
    id: 'getManifest',
    tag: 'manifests',
    summary: 'The desired state of a cluster, with defaults, and how it is',
    description:
      'Every cluster has a manifest, whichever route made or changed it. With at: as it was at an earlier moment, also of a cluster that is deleted since.',
    answer: 'The manifest',
    schema: ClusterManifestView,
    refusals: [...OF_CLUSTER, 'token.too-many-audits'],
  })
  async get(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ClusterQuery }) { minSeq = 0, at }: ClusterQuery,
    @FromExchange() exchange: Exchange,
  ): Promise<ClusterManifestView> {
    await this.answers.waitForProjection(minSeq);
    if (typeof at === 'number') await this.answers.waitForProjection(at, 'at');
    const view = await this.manifests.one(path, at, exchange);
    if (view === undefined) throw new RefusalError(clusterUnknown(path));
    return view;
  }

  @Put()
  @OperatorCommand({ dryRun: true })
  @Documented({
    id: 'putManifest',
    tag: 'manifests',
    records: 'work',
    summary: 'Apply a manifest: create the cluster, or make it as declared',
    description: `A manifest that says what is declared already changes nothing and records nothing. ${DRY_RUN}`,
    answers: [
      ...CHANGES,
      { status: 201, description: 'With Prefer: wait=N: the cluster is created', schema: ClusterManifestView },
    ],
    refusals: [...CHANGE_REFUSALS, ...CREATE_REFUSALS],
  })
  async put(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ManifestQuery }) { dryRun }: ManifestQuery,
    // What it leaves out may be its template's: it is read as it came.
    @Body({ schema: ClusterDraft }) _draft: ClusterDraft,
    @FromExchange() exchange: Exchange,
  ): Promise<ClusterManifestView> {
    const options = { caller: exchange.caller, dryRun: dryRun === 'All' };
    const applied = await this.commands.put(path, exchange.body, options);
    return this.changes.of(exchange, path, applied, appliedView(path, applied));
  }

  @Patch()
  @OperatorCommand({ dryRun: true })
  @Documented({
    id: 'patchManifest',
    tag: 'manifests',
    records: 'work',
    summary: 'Change a manifest by a JSON merge patch (RFC 7386)',
    description: `The body is application/merge-patch+json, or application/json. Lists are replaced as a whole. ${DRY_RUN}`,
    answers: CHANGES,
    refusals: CHANGE_REFUSALS,
  })
  async patch(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ManifestQuery }) { dryRun }: ManifestQuery,
    @Body({ schema: ManifestPatch }) patch: ManifestPatch,
    @FromExchange() exchange: Exchange,
  ): Promise<ClusterManifestView> {
    const options = { caller: exchange.caller, dryRun: dryRun === 'All' };
    const applied = await this.commands.patch(path, patch, options);
    return this.changes.of(exchange, path, applied, appliedView(path, applied));
  }
}

@Controller(bothBases('schemas'))
export class SchemasHttp {
  @Get('cluster')
  @Authenticated()
  @Documented({
    id: 'getClusterSchema',
    tag: 'manifests',
    records: 'nothing',
    summary: 'The JSON Schema of a manifest',
    answers: [{ status: 200, description: 'JSON Schema, draft 2020-12' }],
  })
  schema(): object {
    return manifestJsonSchema();
  }

  @Get('cluster-template')
  @Authenticated()
  @Documented({
    id: 'getClusterTemplateSchema',
    tag: 'templates',
    records: 'nothing',
    summary: 'The JSON Schema of a cluster template',
    answers: [{ status: 200, description: 'JSON Schema, draft 2020-12' }],
  })
  templateSchema(): object {
    return templateJsonSchema();
  }
}
