import { CreatedTokenView, StatusView, TokenList, TokenPath, TokenRequest } from '@fairlead/contracts';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Res } from '@nestjs/common';
import { accept, showSeq } from '../http/answers.js';
import { causeOf, FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { KEY_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { RoleEverywhere } from './access.js';
import { TokenCommands } from './token.commands.js';
import { TokenStore } from './tokens.store.js';

@Controller(bothBases('tokens'))
export class TokensHttp {
  constructor(
    @Inject(TokenCommands) private readonly commands: TokenCommands,
    @Inject(TokenStore) private readonly store: TokenStore,
  ) {}

  @Get()
  @RoleEverywhere('admin')
  @Documented({
    id: 'listTokens',
    tag: 'tokens',
    summary: 'The API tokens that open something',
    answers: [{ status: 200, description: 'The tokens, without what makes them tokens', schema: TokenList }],
  })
  async list(): Promise<TokenList> {
    return { kind: 'TokenList', items: await this.store.all() };
  }

  @Post()
  @RoleEverywhere('admin')
  @KeyedCommand('sealed')
  @Documented({
    id: 'createToken',
    tag: 'tokens',
    summary: 'Make an API token',
    answers: [{ status: 201, description: 'The token, shown this once', schema: CreatedTokenView }],
    refusals: ['conflict.concurrent', ...KEY_REFUSALS],
  })
  async create(
    @Body({ schema: TokenRequest }) request: TokenRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<CreatedTokenView> {
    const { seq, ...created } = await this.commands.create(request, causeOf(caller));
    accept(response, { seq, location: `/tokens/${created.id}`, status: 201, waited: false });
    response.setHeader('Cache-Control', 'no-store');
    return created;
  }

  @Delete(':token')
  @HttpCode(200)
  @RoleEverywhere('admin')
  @Documented({
    id: 'revokeToken',
    tag: 'tokens',
    summary: 'Revoke an API token, at once and for good',
    answers: [{ status: 200, description: 'It opens nothing any more', schema: StatusView }],
    refusals: ['token.unknown', 'conflict.concurrent'],
  })
  async revoke(
    @Param({ schema: TokenPath }) { token }: TokenPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    showSeq(response, await this.commands.revoke(token, causeOf(caller)));
    return { kind: 'Status', code: 200, message: `Token ${token} is revoked.` };
  }
}
