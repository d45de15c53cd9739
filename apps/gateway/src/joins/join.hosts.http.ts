import { HostJoinRequest, HostJoinView, refuse } from '@fairlead/contracts';
import { Body, Controller, Get, Header, HttpCode, Inject, Post, Req, Res, StreamableFile } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Public } from '../access/access.js';
import { FailureLimit } from '../auth/failures.limit.js';
import { Documented } from '../http/documented.js';
import type { HttpRequest, HttpResponse } from '../http/http.types.js';
import { RefusalError } from '../http/refusal.error.js';
import { JoinFiles } from './join.files.js';
import { JoinCommands } from './joins.commands.js';

/** Where hosts ask, without an API token: the join token in the body is their only right. */
export const JOIN = 'join';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64');

@Controller(JOIN)
export class JoinHostsHttp {
  private readonly limit = new FailureLimit();

  constructor(
    @Inject(JoinCommands) private readonly commands: JoinCommands,
    @Inject(JoinFiles) private readonly files: JoinFiles,
  ) {}

  @Post()
  @HttpCode(200)
  @Public()
  @Documented({
    id: 'joinHost',
    tag: 'nodes',
    records: 'work',
    summary: 'Ask to be admitted, as a host with a join token',
    description:
      'Repeated by the host until it has its credential. The first call uses the token up: from then on it counts with the same key only.',
    answers: [{ status: 200, description: 'How far the host is', schema: HostJoinView }],
    refusals: ['join.token-refused', 'conflict.concurrent'],
  })
  async join(
    @Body({ schema: HostJoinRequest }) request: HostJoinRequest,
    @Req() http: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<HostJoinView> {
    response.setHeader('Cache-Control', 'no-store');
    const address = http.ip ?? '';
    const hash = hashOf(request.token);
    try {
      const view = await this.limit.inTurn(address, hash, () => this.commands.join(request, http.requestId));
      this.limit.succeeded(hash);
      return view;
    } catch (error) {
      if (!(error instanceof RefusalError) || error.refusals[0].code !== 'join.token-refused') throw error;
      const seconds = this.limit.failed(address, hash);
      if (seconds > 0)
        throw new RefusalError(refuse('auth.too-many-failures', { address, seconds })).retryAfter(seconds);
      throw error;
    }
  }

  @Get('install.sh')
  @Public()
  @Header('Content-Type', 'text/x-shellscript; charset=utf-8')
  @Documented({
    id: 'getJoinScript',
    tag: 'nodes',
    records: 'nothing',
    summary: 'The script that makes a host join',
    answers: [{ status: 200, description: 'A shell script without secrets', contentType: 'text/x-shellscript' }],
    refusals: ['join.not-served'],
  })
  async script(): Promise<string> {
    return (await this.files.script()).content.toString('utf8');
  }

  @Get('agent.mjs')
  @Public()
  @Documented({
    id: 'getJoinAgent',
    tag: 'nodes',
    records: 'nothing',
    summary: 'The agent, as the script downloads it',
    answers: [{ status: 200, description: 'One file', contentType: 'text/javascript' }],
    refusals: ['join.not-served'],
  })
  async agent(): Promise<StreamableFile> {
    return new StreamableFile((await this.files.agent()).content, { type: 'text/javascript' });
  }

  @Get('node.gz')
  @Public()
  @Documented({
    id: 'getJoinRuntime',
    tag: 'nodes',
    records: 'nothing',
    summary: 'The Node.js runtime of this gateway, for hosts without one',
    answers: [{ status: 200, description: 'A program, compressed by gzip', contentType: 'application/gzip' }],
    refusals: ['join.not-served'],
  })
  async runtime(): Promise<StreamableFile> {
    return new StreamableFile((await this.files.runtime()).content, { type: 'application/gzip' });
  }
}
