import { ADDON_SECRETS_MAX, HOOK_SECRETS_MAX, type Fact } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, it } from '@jest/globals';
import {
  sealedSecrets,
  type DeleteSecret,
  type ReadSecret,
  type SecretKind,
  type SetSecret,
} from './sealed.secrets.decider.js';

const { given } = specification(sealedSecrets);

const NAMESPACE = 'team-a' as never;
const created: Fact = { type: 'NamespaceCreated', data: { name: NAMESPACE, description: '' } };
const deleted = { type: 'NamespaceDeleted', data: { name: NAMESPACE } } as unknown as Fact;
const data = (secret: string) => ({ name: NAMESPACE, secretName: secret as never });
const named = (kind: SecretKind, secret: string) => ({ kind, namespace: NAMESPACE, secret: secret as never });
const set = (kind: SecretKind, secret: string): SetSecret => ({ type: 'SetSecret', data: named(kind, secret) });
const remove = (kind: SecretKind, secret: string): DeleteSecret => ({
  type: 'DeleteSecret',
  data: named(kind, secret),
});

const read = (kind: SecretKind, secret: string): ReadSecret => ({ type: 'ReadSecret', data: named(kind, secret) });

const KINDS = [
  {
    kind: 'hook',
    isSet: 'HookSecretSet',
    isRead: 'HookSecretRead',
    isDeleted: 'HookSecretDeleted',
    max: HOOK_SECRETS_MAX,
    tooMany: 'hook.too-many-secrets',
    unknown: 'hook.secret-unknown',
  },
  {
    kind: 'addon',
    isSet: 'AddonSecretSet',
    isRead: 'AddonSecretRead',
    isDeleted: 'AddonSecretDeleted',
    max: ADDON_SECRETS_MAX,
    tooMany: 'addon.too-many-secrets',
    unknown: 'addon.secret-unknown',
  },
] as const;

describe.each(KINDS)(
  'the $kind secrets of a namespace',
  ({ kind, isSet, isRead, isDeleted, max, tooMany, unknown }) => {
    const full = Array.from({ length: max }, (_, index): Fact => ({ type: isSet, data: data(`s-${index}`) }));

    it('are set, set again, and deleted', () => {
      given(created)
        .when(set(kind, 'traffic'))
        .then({ type: isSet, data: data('traffic') });
      const known: Fact = { type: isSet, data: data('traffic') };
      given(created, known)
        .when(set(kind, 'traffic'))
        .then({ type: isSet, data: data('traffic') });
      given(created, known)
        .when(remove(kind, 'traffic'))
        .then({ type: isDeleted, data: data('traffic') });
      given(created, known, { type: isDeleted, data: data('traffic') })
        .when(remove(kind, 'traffic'))
        .thenRefused(unknown);
    });

    it('are read on record, each time; unknown ones are not', () => {
      const known: Fact = { type: isSet, data: data('traffic') };
      given(created, known)
        .when(read(kind, 'traffic'))
        .then({ type: isRead, data: data('traffic') });
      given(created, known, { type: isRead, data: data('traffic') })
        .when(read(kind, 'traffic'))
        .then({ type: isRead, data: data('traffic') });
      given(created).when(read(kind, 'traffic')).thenRefused(unknown);
      given(created, known, deleted).when(read(kind, 'traffic')).thenRefused('namespace.unknown');
    });

    it(`are at most ${max}, of which one can be set again`, () => {
      given(created, ...full)
        .when(set(kind, 'one-more'))
        .thenRefused(tooMany);
      given(created, ...full)
        .when(set(kind, 's-1'))
        .then({ type: isSet, data: data('s-1') });
    });

    it('do not count those of the other kind', () => {
      const other = kind === 'hook' ? 'addon' : 'hook';
      given(created, ...full)
        .when(set(other, 'traffic'))
        .then({ type: other === 'hook' ? 'HookSecretSet' : 'AddonSecretSet', data: data('traffic') });
      given(created, ...full)
        .when(remove(other, 's-1'))
        .thenRefused(other === 'hook' ? 'hook.secret-unknown' : 'addon.secret-unknown');
    });

    it('end with their namespace', () => {
      given(created, ...full, deleted)
        .when(set(kind, 'traffic'))
        .thenRefused('namespace.unknown');
      given(created, ...full, deleted, created)
        .when(remove(kind, 's-1'))
        .thenRefused(unknown);
    });
  },
);

describe('the secret of a hook', () => {
  it('is recorded with the end of the value before', () => {
    const oldValidUntil = '2026-01-02T00:00:00.000Z';
    given(created)
      .when({ type: 'SetSecret', data: { ...named('hook', 'traffic'), oldValidUntil } })
      .then({ type: 'HookSecretSet', data: { ...data('traffic'), oldValidUntil } });
  });
});
