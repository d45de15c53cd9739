import { NamespacePath, namespaceStream, StatusView } from '@fairlead/contracts';
import { HANDLE, POSITIONS, type Handle, type Positions } from '@fairlead/event-sourcing/jetstream';
import { Controller, Delete, HttpCode, Inject, Param, Res } from '@nestjs/common';
import { RoleEverywhere } from '../access/access.js';
import { shownSoon, showSeq } from '../http/answers.js';
import { causeOf, FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { unwrap } from '../http/refusal.error.js';
import { NamespaceContents } from './namespace.contents.js';
import { namespaces } from './namespaces.decider.js';

@Controller(bothBases('ns/:namespace'))
export class NamespaceDeletionHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(POSITIONS) private readonly positions: Positions,
    @Inject(NamespaceContents) private readonly contents: NamespaceContents,
  ) {}

  @Delete()
  @HttpCode(200)
  @RoleEverywhere('admin')
  @Documented({
    id: 'deleteNamespace',
    tag: 'namespaces',
    records: 'end',
    summary: 'Delete an empty namespace',
    answers: [{ status: 200, description: 'It is gone', schema: StatusView }],
    refusals: ['namespace.unknown', 'namespace.not-empty', 'conflict.concurrent'],
  })
  async delete(
    @Param({ schema: NamespacePath }) { namespace: name }: NamespacePath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const names = await this.contents.namesIn(name);
    const command = { type: 'DeleteNamespace', data: { name, clusters: names.clusters } } as const;
    const { seq } = unwrap(await this.handle(namespaces, namespaceStream(name), command, causeOf(caller)));
    await this.contents.forget(name, names);
    showSeq(response, seq);
    // So that the roles in it open nothing any more.
    await shownSoon(this.positions, seq);
    return { kind: 'Status', code: 200, message: `Namespace '${name}' is deleted.` };
  }
}
