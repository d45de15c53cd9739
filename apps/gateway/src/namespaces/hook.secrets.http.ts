import {
  HookSecretList,
  HookSecretPath,
  HookSecretRequest,
  HookSecretValueView,
  HookSecretView,
  NamespacePath,
  namespaceStream,
  OLD_HOOK_SECRET_SECONDS,
  ReadQuery,
  refuse,
  StatusView,
} from '@fairlead/contracts';
import { HANDLE, POSITIONS, type Handle, type Positions } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Delete, Get, Header, HttpCode, Inject, Param, Put, Query } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { showSeq, untilShown } from '../http/answers.js';
import { causeOf, FromExchange, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import { IN_NAMESPACE, ReadRoute } from '../http/read.routes.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { HookSecretValues } from './hook.secrets.values.js';
import { NamespaceQueries } from './namespaces.queries.js';
import { sealedSecrets } from './sealed.secrets.decider.js';

interface StoredHookSecret {
  readonly name: string;
  readonly setTime: string;
  readonly oldValidUntil: string | undefined;
}

const hookSecretView = ({ name, setTime, oldValidUntil }: StoredHookSecret): HookSecretView => ({
  ...{ kind: 'HookSecret', name, setTime },
  ...(oldValidUntil === undefined ? {} : { oldValidUntil }),
});

@Controller(bothBases('ns/:namespace/hook-secrets'))
export class HookSecretsHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(POSITIONS) private readonly positions: Positions,
    @Inject(HookSecretValues) private readonly values: HookSecretValues,
    @Inject(NamespaceQueries) private readonly queries: NamespaceQueries,
  ) {}

  @ReadRoute('', {
    id: 'listHookSecrets',
    tag: 'namespaces',
    summary: 'The names of the secrets that requests to hooks are signed with',
    answer: 'The secrets, without their values',
    schema: HookSecretList,
    refusals: IN_NAMESPACE,
  })
  async list(
    @Param({ schema: NamespacePath }) { namespace }: NamespacePath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<HookSecretList> {
    await untilShown(this.positions, minSeq);
    const doc = await this.queries.one(namespace);
    if (doc === undefined) throw new RefusalError(refuse('namespace.unknown', { namespace }));
    const items = Object.entries(doc.hookSecrets ?? {}).map(([name, setTime]) =>
      hookSecretView({ name, setTime, oldValidUntil: doc.oldHookSecrets?.[name] }),
    );
    return { kind: 'HookSecretList', items: items.toSorted((one, other) => (one.name < other.name ? -1 : 1)) };
  }

  @Get(':secret/value')
  @RoleInNamespace('admin')
  @Header('Cache-Control', 'no-store')
  @Documented({
    id: 'getHookSecretValue',
    tag: 'namespaces',
    records: 'access',
    summary: 'The value of a secret that requests to hooks are signed with; reading it is recorded',
    answers: [{ status: 200, description: 'The value', schema: HookSecretValueView }],
    refusals: ['namespace.unknown', 'hook.secret-unknown', 'conflict.concurrent'],
  })
  async read(
    @Param({ schema: HookSecretPath }) { namespace, secret }: HookSecretPath,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<HookSecretValueView> {
    const command = { type: 'ReadSecret', data: { kind: 'hook', namespace, secret } } as const;
    const { seq } = unwrap(await this.handle(sealedSecrets, namespaceStream(namespace), command, causeOf(caller)));
    const value = await this.values.valueOf({ namespace, name: secret });
    if (value === undefined) throw new RefusalError(refuse('hook.secret-unknown', { namespace, secret }));
    showSeq(response, seq);
    return { kind: 'HookSecretValue', name: secret, value };
  }

  @Put(':secret')
  @RoleInNamespace('operator')
  @Documented({
    id: 'putHookSecret',
    tag: 'namespaces',
    records: 'work',
    summary: 'Set a secret that requests to hooks are signed with',
    description:
      'Requests are signed with the value before, too, for expireOldAfterSeconds, so that receivers can change over one after the other. Hooks and gates name the secret as secretName in the manifests and upgrades of the namespace.',
    answers: [{ status: 200, description: 'The secret, without its value', schema: HookSecretView }],
    refusals: ['namespace.unknown', 'hook.too-many-secrets', 'conflict.concurrent'],
  })
  async put(
    @Param({ schema: HookSecretPath }) { namespace, secret }: HookSecretPath,
    @Body({ schema: HookSecretRequest })
    { value, expireOldAfterSeconds = OLD_HOOK_SECRET_SECONDS.default }: HookSecretRequest,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<HookSecretView> {
    const old = await this.values.oldAfter({ namespace, name: secret }, value, expireOldAfterSeconds);
    const command = {
      type: 'SetSecret',
      data: { kind: 'hook', namespace, secret, oldValidUntil: old?.validUntil },
    } as const;
    const decided = unwrap(await this.handle(sealedSecrets, namespaceStream(namespace), command, causeOf(caller)));
    // Nothing is sealed for a request that is refused.
    await this.values.seal({ namespace, name: secret }, value, old);
    showSeq(response, decided.seq);
    const setTime = decided.events[0]?.meta.time;
    if (setTime === undefined) throw new Error(`setting the hook secret ${secret} decided nothing`);
    return hookSecretView({ name: secret, setTime, oldValidUntil: old?.validUntil });
  }

  @Delete(':secret')
  @HttpCode(200)
  @RoleInNamespace('operator')
  @Documented({
    id: 'deleteHookSecret',
    tag: 'namespaces',
    records: 'end',
    summary: 'Delete a secret that requests to hooks are signed with',
    description: 'Hooks that still name it fail, by their failurePolicy.',
    answers: [{ status: 200, description: 'It is gone', schema: StatusView }],
    refusals: ['namespace.unknown', 'hook.secret-unknown', 'conflict.concurrent'],
  })
  async delete(
    @Param({ schema: HookSecretPath }) { namespace, secret }: HookSecretPath,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<StatusView> {
    const command = { type: 'DeleteSecret', data: { kind: 'hook', namespace, secret } } as const;
    const { seq } = unwrap(await this.handle(sealedSecrets, namespaceStream(namespace), command, causeOf(caller)));
    await this.values.delete(namespace, secret);
    showSeq(response, seq);
    return { kind: 'Status', code: 200, message: `The hook secret '${secret}' is deleted.` };
  }
}
