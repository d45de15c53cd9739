import {
  AddonSecretList,
  AddonSecretPath,
  AddonSecretRequest,
  AddonSecretValuesView,
  AddonSecretView,
  NamespacePath,
  namespaceStream,
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
import { SealedAddonValues } from './addon.secrets.values.js';
import { NamespaceQueries } from './namespaces.queries.js';
import { sealedSecrets } from './sealed.secrets.decider.js';

@Controller(bothBases('ns/:namespace/addon-secrets'))
export class AddonSecretsHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(POSITIONS) private readonly positions: Positions,
    @Inject(SealedAddonValues) private readonly values: SealedAddonValues,
    @Inject(NamespaceQueries) private readonly queries: NamespaceQueries,
  ) {}

  @ReadRoute('', {
    id: 'listAddonSecrets',
    tag: 'namespaces',
    summary: 'The names of the sealed values of add-ons',
    answer: 'The secrets, without their values',
    schema: AddonSecretList,
    refusals: IN_NAMESPACE,
  })
  async list(
    @Param({ schema: NamespacePath }) { namespace }: NamespacePath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<AddonSecretList> {
    await untilShown(this.positions, minSeq);
    const doc = await this.queries.one(namespace);
    if (doc === undefined) throw new RefusalError(refuse('namespace.unknown', { namespace }));
    const items = Object.entries(doc.addonSecrets ?? {}).map(([name, setTime]): AddonSecretView => ({
      kind: 'AddonSecret',
      name,
      setTime,
    }));
    return { kind: 'AddonSecretList', items: items.toSorted((one, other) => (one.name < other.name ? -1 : 1)) };
  }

  @Get(':addonSecret/values')
  @RoleInNamespace('admin')
  @Header('Cache-Control', 'no-store')
  @Documented({
    id: 'getAddonSecretValues',
    tag: 'namespaces',
    records: 'access',
    summary: 'Sealed values of add-ons; reading them is recorded',
    answers: [{ status: 200, description: 'The values', schema: AddonSecretValuesView }],
    refusals: ['namespace.unknown', 'addon.secret-unknown', 'conflict.concurrent'],
  })
  async read(
    @Param({ schema: AddonSecretPath }) { namespace, addonSecret: secret }: AddonSecretPath,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<AddonSecretValuesView> {
    const command = { type: 'ReadSecret', data: { kind: 'addon', namespace, secret } } as const;
    const { seq } = unwrap(await this.handle(sealedSecrets, namespaceStream(namespace), command, causeOf(caller)));
    const values = await this.values.valuesOf(namespace, secret);
    if (values === undefined)
      throw new RefusalError(refuse('addon.secret-unknown', { namespace, addonSecret: secret }));
    showSeq(response, seq);
    return { kind: 'AddonSecretValues', name: secret, values };
  }

  @Put(':addonSecret')
  @RoleInNamespace('operator')
  @Documented({
    id: 'putAddonSecret',
    tag: 'namespaces',
    records: 'work',
    summary: 'Seal values of add-ons',
    description:
      'Add-ons name the secret in valuesFrom. Releases that use it are upgraded when they are looked at next, if they render differently.',
    answers: [{ status: 200, description: 'The secret, without its values', schema: AddonSecretView }],
    refusals: ['namespace.unknown', 'addon.too-many-secrets', 'conflict.concurrent'],
  })
  async put(
    @Param({ schema: AddonSecretPath }) { namespace, addonSecret: secret }: AddonSecretPath,
    @Body({ schema: AddonSecretRequest }) { values }: AddonSecretRequest,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<AddonSecretView> {
    const command = { type: 'SetSecret', data: { kind: 'addon', namespace, secret } } as const;
    const decided = unwrap(await this.handle(sealedSecrets, namespaceStream(namespace), command, causeOf(caller)));
    const set = decided.events[0]?.meta;
    if (set === undefined) throw new Error(`setting the add-on secret ${secret} decided nothing`);
    // Nothing is sealed for a request that is refused.
    await this.values.seal(namespace, secret, { setBy: set.id, values });
    showSeq(response, decided.seq);
    return { kind: 'AddonSecret', name: secret, setTime: set.time };
  }

  @Delete(':addonSecret')
  @HttpCode(200)
  @RoleInNamespace('operator')
  @Documented({
    id: 'deleteAddonSecret',
    tag: 'namespaces',
    records: 'end',
    summary: 'Delete sealed values of add-ons',
    description: 'Releases that use them stay as they are; their next change fails.',
    answers: [{ status: 200, description: 'It is gone', schema: StatusView }],
    refusals: ['namespace.unknown', 'addon.secret-unknown', 'conflict.concurrent'],
  })
  async delete(
    @Param({ schema: AddonSecretPath }) { namespace, addonSecret: secret }: AddonSecretPath,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<StatusView> {
    const command = { type: 'DeleteSecret', data: { kind: 'addon', namespace, secret } } as const;
    const { seq } = unwrap(await this.handle(sealedSecrets, namespaceStream(namespace), command, causeOf(caller)));
    await this.values.delete(namespace, secret);
    showSeq(response, seq);
    return { kind: 'Status', code: 200, message: `The add-on secret '${secret}' is deleted.` };
  }
}
