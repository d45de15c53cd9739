import {
  addonSecretRef,
  FIRST_PREVHASH,
  hookSecretRef,
  namespaceStream,
  oldHookSecretRef,
  realmSecretRef,
  type Fact,
  type Namespace,
  type RealmName,
} from '@fairlead/contracts';
import { makeHandle } from '@fairlead/event-sourcing/jetstream';
import { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import { systemClock } from '@fairlead/service-kit';
import { MemorySecrets } from '@fairlead/testing';
import { expect, it } from '@jest/globals';
import { Registry } from '../common/registry.js';
import type { ClusterIndex } from '../lifecycle/cluster.index.queries.js';
import { RealmCommands } from '../realms/realms.commands.js';
import type { RealmQueries } from '../realms/realms.queries.js';
import { SealedAddonValues } from './addon.secrets.values.js';
import { HookSecretValues } from './hook.secrets.values.js';
import { NamespaceContents } from './namespace.contents.js';

const name = 'team-a' as Namespace;
const secretName = 'hooks';
const realm = 'company' as RealmName;

const facts: readonly Fact[] = [
  { type: 'NamespaceCreated', data: { name, description: '' } },
  { type: 'HookSecretSet', data: { name, secretName } },
  { type: 'AddonSecretSet', data: { name, secretName } },
  {
    type: 'RealmRegistered',
    data: {
      ...{ name, realm, provider: 'keycloak', clientId: 'fairlead', secretRef: realmSecretRef(name, realm) },
      issuerUrl: 'https://id.example.org/realms/company',
    },
  },
];

it('a namespace that is deleted leaves no secret to a later one of its name, whatever its rows show yet', async () => {
  const store = new MemoryStore();
  const cause = { actor: 'user/a', correlationId: 'c', causationId: 'c' };
  await store.append(namespaceStream(name), { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH }, facts, cause);
  const secrets = new MemorySecrets();
  const refs = [hookSecretRef, oldHookSecretRef, addonSecretRef].map((refOf) => refOf(name, secretName));
  for (const ref of [...refs, realmSecretRef(name, realm)]) await secrets.put(ref, 'sealed');
  const registry = new Registry(store);
  const noRows = { all: async () => [], users: async () => [] } as unknown as RealmQueries;
  const contents = new NamespaceContents(
    { namesIn: async () => [] } as unknown as ClusterIndex,
    new HookSecretValues(secrets, registry, systemClock),
    new SealedAddonValues(secrets, registry),
    new RealmCommands(makeHandle(store), secrets, registry, noRows),
  );
  await contents.forget(name, await contents.namesIn(name));
  expect([...secrets.values.keys()]).toEqual([]);
});
