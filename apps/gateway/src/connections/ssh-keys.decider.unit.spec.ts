import type { ConnectionName, Fact, SecretRef } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, it } from '@jest/globals';
import { sshKeys, type RotateSshKey } from './ssh-keys.decider.js';

const name = 'lab' as ConnectionName;
const cause = { operation: 'ensure SSH key', target: 'lab', message: 'no route to host' };

const registered = (provider = 'lab'): Fact => ({
  type: 'ConnectionRegistered',
  data: { name, provider, region: '', zone: '', settings: {}, secretRef: null },
});
const generation = (number: number) => ({
  sshKey: `lab-sshkey-${number}`,
  publicKey: 'ssh-ed25519 AAAA',
  keyRef: `infra-svc.ssh-key.lab_${number}` as SecretRef,
});
const { keyRef: secretRef, ...first } = generation(1);
const ensured: Fact = { type: 'SshKeyEnsured', data: { connection: name, ...first, secretRef } };
const asked: Fact = { type: 'SshKeyRotationRequested', data: { name } };
const started: Fact = {
  type: 'SshKeyRotationStarted',
  data: { connection: name, key: generation(2), former: generation(1) },
};
const failed = (nextAttemptAt: string | null): Fact => ({
  type: 'SshKeyRotationFailed',
  data: { connection: name, cause, attempt: 1, attemptsMax: 10, nextAttemptAt },
});
const ended: Fact = {
  type: 'SshKeyRotated',
  data: {
    connection: name,
    keyRef: generation(2).keyRef,
    formerKeyRef: generation(1).keyRef,
    replaced: 3,
    leftOut: 0,
    hosts: [],
  },
};
const removed: Fact = { type: 'ConnectionRemoved', data: { name } };
const rotate = (force = false): RotateSshKey => ({ type: 'RotateSshKey', data: { name, force } });
const forced: Fact = { type: 'SshKeyRotationForced', data: { name } };
const after = (...facts: readonly Fact[]) => specification(sshKeys).given(...facts);

describe('a request to rotate the SSH key of a connection', () => {
  it('is recorded; another one is refused until the rotation has ended', () => {
    after(registered(), ensured).when(rotate()).then(asked);
    after(registered(), ensured, asked).when(rotate()).thenRefused('connection.ssh-key-rotating');
    after(registered(), ensured, asked, started).when(rotate()).thenRefused('connection.ssh-key-rotating');
    after(registered(), ensured, asked, started, ended).when(rotate()).then(asked);
  });

  it('continues a rotation that has failed, and not one that is tried again', () => {
    after(registered(), ensured, asked, started, failed(null)).when(rotate()).then(asked);
    after(registered(), ensured, asked, failed('2026-01-31T10:00:05.000Z'))
      .when(rotate())
      .thenRefused('connection.ssh-key-rotating');
  });

  it('forces the end of a rotation that has created a new key, and of no other', () => {
    after(registered(), ensured, asked, started).when(rotate(true)).then(forced);
    for (const facts of [[], [asked], [asked, started, ended]])
      after(registered(), ensured, ...facts)
        .when(rotate(true))
        .thenRefused('connection.ssh-key-not-rotating');
  });

  it('is refused where there is no connection, no key, or a key of the user', () => {
    after(ensured).when(rotate()).thenRefused('connection.not-found');
    after(registered(), ensured, removed).when(rotate()).thenRefused('connection.not-found');
    after(registered()).when(rotate()).thenRefused('connection.ssh-key-none');
    after(registered('ssh'), ensured).when(rotate()).thenRefused('connection.ssh-key-own');
  });
});
