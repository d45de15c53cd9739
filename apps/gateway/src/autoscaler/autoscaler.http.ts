import {
  AutoscalerCredentialList,
  AutoscalerCredentialPath,
  AutoscalerCredentialRequest,
  ClusterPath,
  SignedAutoscalerCredentialView,
  StatusView,
  TokensQuery,
  type RefusalCode,
} from '@fairlead/contracts';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Res } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { accept, showSeq } from '../http/answers.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { IDEMPOTENCY_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { AutoscalerCredentials } from './credentials.commands.js';

const REFUSALS: readonly RefusalCode[] = [...OF_CLUSTER, 'conflict.concurrent'];

@Controller(bothBases('ns/:namespace/clusters/:cluster/autoscaler/credentials'))
export class AutoscalerHttp {
  constructor(@Inject(AutoscalerCredentials) private readonly credentials: AutoscalerCredentials) {}

  @Get()
  @RoleInNamespace('admin')
  @Documented({
    id: 'listAutoscalerCredentials',
    tag: 'manifests',
    records: 'nothing',
    summary: "The client certificates with which autoscalers scale the cluster's pools, as far as they are valid",
    answers: [{ status: 200, description: 'The credentials', schema: AutoscalerCredentialList }],
    refusals: [...REFUSALS, 'list.continue-invalid'],
  })
  async list(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: TokensQuery }) query: TokensQuery,
    @FromCaller() caller: Caller,
    @IsWhole() isWhole: boolean,
  ): Promise<AutoscalerCredentialList> {
    const items = await this.credentials.list(path, caller);
    const request = pageRequest(`autoscaler ${path.namespace}/${path.cluster}`, query, isWhole);
    const page = pageOf(request, [...items], { keyOf: ({ createdTime, id }) => `${createdTime} ${id}` });
    return { kind: 'AutoscalerCredentialList', ...page };
  }

  @Post()
  @RoleInNamespace('admin')
  @KeyedCommand()
  @Documented({
    id: 'issueAutoscalerCredential',
    tag: 'manifests',
    records: 'work',
    summary: "Sign a client certificate with which an autoscaler scales the cluster's pools that have bounds",
    description:
      'The certificate opens the gRPC address of this installation, for this cluster, until it expires or is revoked. With it, sizes change within the bounds of pools, and nothing else.',
    answers: [{ status: 201, description: 'The certificate', schema: SignedAutoscalerCredentialView }],
    refusals: [
      ...REFUSALS,
      'autoscaler.not-served',
      'autoscaler.csr-invalid',
      'autoscaler.too-many-credentials',
      ...IDEMPOTENCY_REFUSALS,
    ],
  })
  async issue(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: AutoscalerCredentialRequest }) request: AutoscalerCredentialRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<SignedAutoscalerCredentialView> {
    const { view, seq } = await this.credentials.issue(path, request, caller);
    const location = `/ns/${path.namespace}/clusters/${path.cluster}/autoscaler/credentials`;
    accept(response, { seq, location, status: 201, waited: false });
    return view;
  }

  @Delete(':credential')
  @HttpCode(200)
  @RoleInNamespace('admin')
  @Documented({
    id: 'revokeAutoscalerCredential',
    tag: 'manifests',
    records: 'end',
    summary: 'Revoke the client certificate of an autoscaler, at once and for good',
    answers: [{ status: 200, description: 'It is revoked', schema: StatusView }],
    refusals: [...REFUSALS, 'autoscaler.credential-unknown'],
  })
  async revoke(
    @Param({ schema: AutoscalerCredentialPath }) { credential, ...address }: AutoscalerCredentialPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    showSeq(response, await this.credentials.revoke(address, credential, caller));
    return { kind: 'Status', code: 200, message: `The autoscaler credential ${credential} is revoked.` };
  }
}
