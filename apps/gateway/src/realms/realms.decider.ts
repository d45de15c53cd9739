import {
  REALMS_MAX,
  refuse,
  type Fact,
  type Namespace,
  type RealmName,
  type RealmSettings,
  type Refusal,
  type SecretRef,
} from '@fairlead/contracts';
import { realmsAfter, type RegisteredNamespace } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { sameJson } from '../common/json.js';

interface NamedRealm {
  readonly namespace: Namespace;
  readonly realm: RealmName;
  /** Clusters of the namespace that use it. */
  readonly usedBy: readonly string[];
}

/** `sealed`: a credential came with the request; false: the one that there is stays. */
export type RegisterRealm = Command<
  'RegisterRealm',
  NamedRealm & { readonly settings: RealmSettings; readonly secretRef: SecretRef; readonly sealed: boolean }
>;
export type RemoveRealm = Command<'RemoveRealm', NamedRealm & { readonly force: boolean }>;

/** Recorded before the credential is shown. */
export type ReadRealmCredential = Command<'ReadCredential', Pick<NamedRealm, 'namespace' | 'realm'>>;

/** Undefined: there is no such namespace. */
export type RealmsState = RegisteredNamespace['realms'] | undefined;

type RealmFact = Fact<'RealmRegistered' | 'RealmCredentialRead' | 'RealmRemoved'>;

const register = (realms: NonNullable<RealmsState>, { data }: RegisterRealm): readonly RealmFact[] | Refusal => {
  const { namespace, realm, usedBy, settings, secretRef, sealed } = data;
  const before = realms.get(realm);
  if (before === undefined && realms.size >= REALMS_MAX)
    return refuse('realm.too-many', { namespace, max: REALMS_MAX });
  // Tokens name their issuer, and API servers know it: another one is another realm.
  if (before !== undefined && before.issuerUrl !== settings.issuerUrl && usedBy.length > 0)
    return refuse('realm.would-move', { realm, clusters: usedBy.join(', '), issuerUrl: before.issuerUrl }, 'issuerUrl');
  // Another certificate authority lets another server stand for the same address.
  const isSame =
    before?.issuerUrl === settings.issuerUrl &&
    before.clientId === settings.clientId &&
    before.ca === settings.ca &&
    before.create === settings.create; // That client is of another realm.
  if (!sealed && !isSame) {
    const { clientId, issuerUrl } = settings;
    return refuse('realm.secret-missing', { realm, clientId, issuerUrl }, 'clientSecret');
  }
  if (before !== undefined && !sealed) {
    const { registration: _registration, since: _since, ...known } = before;
    if (sameJson(known, { ...settings, secretRef })) return nothing;
  }
  return [{ type: 'RealmRegistered', data: { name: namespace, realm, ...settings, secretRef } }];
};

const remove = (realms: NonNullable<RealmsState>, { data }: RemoveRealm): readonly RealmFact[] | Refusal => {
  const { namespace, realm, usedBy, force } = data;
  if (!realms.has(realm)) return refuse('realm.not-found', { namespace, realm });
  if (usedBy.length > 0 && !force) return refuse('realm.in-use', { realm, clusters: usedBy.join(', ') });
  const abandoned = usedBy.length === 0 ? {} : { abandoned: [...usedBy] };
  return [{ type: 'RealmRemoved', data: { name: namespace, realm, ...abandoned } }];
};

const readCredential = (realms: NonNullable<RealmsState>, { data }: ReadRealmCredential) => {
  const { namespace, realm } = data;
  if (!realms.has(realm)) return refuse('realm.not-found', { namespace, realm });
  return [{ type: 'RealmCredentialRead', data: { name: namespace, realm } } satisfies RealmFact];
};

/** The identity realms of a namespace. Their credentials are in no event. */
export const realms: Decider<RealmsState, RegisterRealm | ReadRealmCredential | RemoveRealm, RealmFact> = {
  initial: undefined,

  decide: (state, command) => {
    if (state === undefined) return refuse('namespace.unknown', { namespace: command.data.namespace });
    switch (command.type) {
      case 'RegisterRealm':
        return register(state, command);
      case 'ReadCredential':
        return readCredential(state, command);
      case 'RemoveRealm':
        return remove(state, command);
    }
  },

  evolve: (state, event) => {
    switch (event.type) {
      case 'NamespaceCreated':
        return new Map();
      case 'NamespaceDeleted':
        return undefined;
      case 'RealmRegistered':
      case 'RealmRemoved':
        return realmsAfter(state ?? new Map(), event);
      default:
        return state;
    }
  },
};
