import { ADDON_SECRETS_MAX, refuse, type Fact, type Namespace, type PoolName } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';

interface Named {
  readonly namespace: Namespace;
  readonly secret: PoolName;
}

export type SetAddonSecret = Command<'SetAddonSecret', Named>;
export type DeleteAddonSecret = Command<'DeleteAddonSecret', Named>;

/** The names of the add-on secrets of a namespace; undefined: there is no namespace. */
export type AddonSecretsState = ReadonlySet<string> | undefined;

/** Values of add-ons that are sealed. They are in no event. */
export const addonSecrets: Decider<
  AddonSecretsState,
  SetAddonSecret | DeleteAddonSecret,
  Fact<'AddonSecretSet' | 'AddonSecretDeleted'>
> = {
  initial: undefined,

  decide: (names, { type, data: { namespace, secret } }) => {
    if (names === undefined) return refuse('namespace.unknown', { namespace });
    const data = { name: namespace, secretName: secret };
    if (type === 'SetAddonSecret')
      return !names.has(secret) && names.size >= ADDON_SECRETS_MAX
        ? refuse('addon.too-many-secrets', { namespace, max: ADDON_SECRETS_MAX })
        : [{ type: 'AddonSecretSet', data }];
    if (!names.has(secret)) return refuse('addon.secret-unknown', { namespace, addonSecret: secret });
    return [{ type: 'AddonSecretDeleted', data }];
  },

  evolve: (names, event) => {
    switch (event.type) {
      case 'NamespaceCreated':
        return new Set();
      case 'NamespaceDeleted':
        return undefined;
      case 'AddonSecretSet':
        return new Set([...(names ?? []), event.data.secretName]);
      case 'AddonSecretDeleted':
        return new Set([...(names ?? [])].filter((name) => name !== event.data.secretName));
      default:
        return names;
    }
  },
};
