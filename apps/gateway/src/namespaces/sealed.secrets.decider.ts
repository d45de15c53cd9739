import {
  ADDON_SECRETS_MAX,
  HOOK_SECRETS_MAX,
  refuse,
  type Fact,
  type Namespace,
  type PoolName,
} from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';

/** Secrets that requests to hooks are signed with, and values of add-ons. */
export type SecretKind = 'hook' | 'addon';

interface SecretName {
  readonly kind: SecretKind;
  readonly namespace: Namespace;
  readonly secret: PoolName;
}

/** `oldValidUntil`: how long the value before stays valid; absent: there is none, or it ends now. */
export type SetSecret = Command<'SetSecret', SecretName & { readonly oldValidUntil?: string | undefined }>;
/** Recorded before the value is shown. */
export type ReadSecret = Command<'ReadSecret', SecretName>;
export type DeleteSecret = Command<'DeleteSecret', SecretName>;

/** The names of the secrets of a namespace; undefined: there is no namespace. */
export type SecretsState = Readonly<Record<SecretKind, readonly string[]>> | undefined;

const KINDS = {
  hook: {
    max: HOOK_SECRETS_MAX,
    set: 'HookSecretSet',
    read: 'HookSecretRead',
    deleted: 'HookSecretDeleted',
    tooMany: (namespace: string, max: number) => refuse('hook.too-many-secrets', { namespace, max }),
    unknown: (namespace: string, secret: string) => refuse('hook.secret-unknown', { namespace, secret }),
  },
  addon: {
    max: ADDON_SECRETS_MAX,
    set: 'AddonSecretSet',
    read: 'AddonSecretRead',
    deleted: 'AddonSecretDeleted',
    tooMany: (namespace: string, max: number) => refuse('addon.too-many-secrets', { namespace, max }),
    unknown: (namespace: string, secret: string) => refuse('addon.secret-unknown', { namespace, addonSecret: secret }),
  },
} as const;

const withName = (state: SecretsState, kind: SecretKind, name: string): SecretsState =>
  state === undefined || state[kind].includes(name) ? state : { ...state, [kind]: [...state[kind], name] };

const withoutName = (state: SecretsState, kind: SecretKind, name: string): SecretsState =>
  state && { ...state, [kind]: state[kind].filter((other) => other !== name) };

/** Sealed secrets of a namespace. Their values are in no event. */
export const sealedSecrets: Decider<
  SecretsState,
  SetSecret | ReadSecret | DeleteSecret,
  Fact<
    | 'HookSecretSet'
    | 'HookSecretRead'
    | 'HookSecretDeleted'
    | 'AddonSecretSet'
    | 'AddonSecretRead'
    | 'AddonSecretDeleted'
  >
> = {
  initial: undefined,

  decide: (state, command) => {
    const { kind, namespace, secret } = command.data;
    if (state === undefined) return refuse('namespace.unknown', { namespace });
    const { max, set, read, deleted, tooMany, unknown } = KINDS[kind];
    const isKnown = state[kind].includes(secret);
    const data = { name: namespace, secretName: secret };
    if (command.type === 'ReadSecret') return isKnown ? [{ type: read, data }] : unknown(namespace, secret);
    if (command.type === 'DeleteSecret') return isKnown ? [{ type: deleted, data }] : unknown(namespace, secret);
    if (!isKnown && state[kind].length >= max) return tooMany(namespace, max);
    const { oldValidUntil } = command.data;
    return [{ type: set, data: oldValidUntil === undefined ? data : { ...data, oldValidUntil } }];
  },

  evolve: (state, event) => {
    switch (event.type) {
      case 'NamespaceCreated':
        return { hook: [], addon: [] };
      case 'NamespaceDeleted':
        return undefined;
      case 'HookSecretSet':
        return withName(state, 'hook', event.data.secretName);
      case 'HookSecretDeleted':
        return withoutName(state, 'hook', event.data.secretName);
      case 'AddonSecretSet':
        return withName(state, 'addon', event.data.secretName);
      case 'AddonSecretDeleted':
        return withoutName(state, 'addon', event.data.secretName);
      default:
        return state;
    }
  },
};
