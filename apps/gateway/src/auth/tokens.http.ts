import { CreatedTokenView, StatusView, TokenList, TokenPath, TokenRequest, TokensQuery } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Res } from '@nestjs/common';
import { Registry } from '../common/registry.js';
import { accept, showSeq } from '../http/answers.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { throwIfRefused } from '../http/refusal.error.js';
import { RoleInSomeNamespace } from '../access/access.js';
import { grantFaults, mayManage } from '../access/identity.js';
import { TokenCommands } from './token.commands.js';
import { TokenStore } from './tokens.store.js';

@Controller(bothBases('tokens'))
export class TokensHttp {
  constructor(
    @Inject(TokenCommands) private readonly commands: TokenCommands,
    @Inject(TokenStore) private readonly store: TokenStore,
    @Inject(Registry) private readonly registry: Registry,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @RoleInSomeNamespace('admin')
  @Documented({
    id: 'listTokens',
    tag: 'tokens',
    records: 'nothing',
    summary:
      'The API tokens that are valid, or expired in the last 30 days; to an administrator of some namespaces, those of these namespaces',
    answers: [{ status: 200, description: 'The tokens, without what makes them tokens', schema: TokenList }],
    refusals: ['list.continue-invalid'],
  })
  async list(
    @Query({ schema: TokensQuery }) query: TokensQuery,
    @FromCaller() { identity }: Caller,
    @IsWhole() isWhole: boolean,
  ): Promise<TokenList> {
    const request = pageRequest('tokens', query, isWhole);
    const items = await this.store.all((token) => mayManage(identity, token), this.clock.now());
    return { kind: 'TokenList', ...pageOf(request, items, { keyOf: ({ createdTime, id }) => `${createdTime} ${id}` }) };
  }

  @Post()
  @RoleInSomeNamespace('admin')
  @KeyedCommand('sealed')
  @Documented({
    id: 'createToken',
    tag: 'tokens',
    records: 'work',
    summary: 'Create an API token, with roles in namespaces of which the caller is an administrator',
    answers: [{ status: 201, description: 'The token, shown this once', schema: CreatedTokenView }],
    refusals: [
      'token.namespace-unknown',
      'token.unknown',
      'token.expiry-invalid',
      'token.outlives-caller',
      ...CHANGE_REFUSALS,
    ],
  })
  async create(
    @Body({ schema: TokenRequest }) request: TokenRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<CreatedTokenView> {
    const { namespaces } = await this.registry.latest();
    throwIfRefused(grantFaults(request.roles, namespaces));
    const { seq, ...created } = await this.commands.create(request, namespaces, caller);
    accept(response, { seq, location: `/tokens/${created.id}`, status: 201, waited: false });
    response.setHeader('Cache-Control', 'no-store');
    return created;
  }

  @Delete(':token')
  @HttpCode(200)
  @RoleInSomeNamespace('admin')
  @Documented({
    id: 'revokeToken',
    tag: 'tokens',
    records: 'end',
    summary: 'Revoke an API token, at once and for good',
    answers: [{ status: 200, description: 'It is revoked', schema: StatusView }],
    refusals: ['token.unknown', 'token.last-administrator', 'token.in-use', 'conflict.concurrent'],
  })
  async revoke(
    @Param({ schema: TokenPath }) { token }: TokenPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    showSeq(response, await this.commands.revoke(token, caller));
    return { kind: 'Status', code: 200, message: `Token ${token} is revoked.` };
  }
}
