import { HOOK_SECRETS_MAX, refuse, type Fact, type Namespace, type PoolName } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';

interface Named {
  readonly namespace: Namespace;
  readonly secret: PoolName;
}

/** `oldValidUntil`: how long the value before stays valid; undefined: there is none, or it ends now. */
export type SetHookSecret = Command<'SetHookSecret', Named & { readonly oldValidUntil: string | undefined }>;
export type DeleteHookSecret = Command<'DeleteHookSecret', Named>;

/** The names of the hook secrets of a namespace; undefined: there is no namespace. */
export type HookSecretsState = ReadonlySet<string> | undefined;

/** Secrets that requests to hooks are signed with. Their values are in no event. */
export const hookSecrets: Decider<
  HookSecretsState,
  SetHookSecret | DeleteHookSecret,
  Fact<'HookSecretSet' | 'HookSecretDeleted'>
> = {
  initial: undefined,

  decide: (names, command) => {
    const { namespace, secret } = command.data;
    if (names === undefined) return refuse('namespace.unknown', { namespace });
    const data = { name: namespace, secretName: secret };
    if (command.type === 'SetHookSecret') {
      const { oldValidUntil } = command.data;
      if (!names.has(secret) && names.size >= HOOK_SECRETS_MAX)
        return refuse('hook.too-many-secrets', { namespace, max: HOOK_SECRETS_MAX });
      return [{ type: 'HookSecretSet', data: oldValidUntil === undefined ? data : { ...data, oldValidUntil } }];
    }
    if (!names.has(secret)) return refuse('hook.secret-unknown', { namespace, secret });
    return [{ type: 'HookSecretDeleted', data }];
  },

  evolve: (names, event) => {
    switch (event.type) {
      case 'NamespaceCreated':
        return new Set();
      case 'NamespaceDeleted':
        return undefined;
      case 'HookSecretSet':
        return new Set([...(names ?? []), event.data.secretName]);
      case 'HookSecretDeleted':
        return new Set([...(names ?? [])].filter((name) => name !== event.data.secretName));
      default:
        return names;
    }
  },
};
