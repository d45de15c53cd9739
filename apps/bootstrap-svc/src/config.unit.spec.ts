import { expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { ConfigurationError } from '@fairlead/service-kit';
import { DEFAULT_TUNING } from '@fairlead/node-scripts';
import { readSettings } from './config.js';

const bundle = fileURLToPath(import.meta.url);
const env = { NATS_URL: 'nats://127.0.0.1:4222', AGENT_BUNDLE: bundle };

it('has defaults except for the locations of NATS and the agent [CB-Ladybug 13, CB-Ladybug 14]', () => {
  const settings = readSettings(env);
  expect(settings).toMatchObject({
    agent: { bundle, nodeBinary: '/usr/bin/node', natsUrls: ['nats://127.0.0.1:4222'], signing: null },
    ssh: { triesMax: 15, deadlineMs: 180_000 },
    limits: { agentMs: 900_000, readyMs: 900_000 },
  });
  expect(settings.tuning).toEqual(DEFAULT_TUNING);
});

it('reads settings that differ between kinds of hosts as JSON', () => {
  const tuning = '{"cgroupDriver":"cgroupfs","failSwapOn":false,"kubeProxyMode":"nftables","tuneConntrack":false}';
  expect(readSettings({ ...env, KUBEADM_TUNING: tuning }).tuning).toEqual({
    ...DEFAULT_TUNING,
    cgroupDriver: 'cgroupfs',
    failSwapOn: false,
    kubeProxyMode: 'nftables',
    tuneConntrack: false,
  });
});

it('reads the keys that may sign mirrors, separated by commas', () => {
  const key = (letter: string) => `ed25519:${letter.repeat(43)}=`;
  expect(readSettings(env).agent.softwareSigners).toEqual([]);
  const both = readSettings({ ...env, SOFTWARE_SIGNERS: `${key('A')},${key('B')}` });
  expect(both.agent.softwareSigners).toEqual([key('A'), key('B')]);
  expect(() => readSettings({ ...env, SOFTWARE_SIGNERS: 'anyone' })).toThrow(/SOFTWARE_SIGNERS/);
});

it('reports every error at once', () => {
  const faults = { AGENT_BUNDLE: '/nowhere/agent.mjs', SSH_TRIES_MAX: '0', KUBEADM_TUNING: '{"cgroupDriver":"none"}' };
  const read = () => readSettings(faults);
  expect(read).toThrow(ConfigurationError);
  for (const name of ['NATS_URL', 'AGENT_BUNDLE', 'SSH_TRIES_MAX', 'KUBEADM_TUNING'])
    expect(read).toThrow(new RegExp(name));
});
