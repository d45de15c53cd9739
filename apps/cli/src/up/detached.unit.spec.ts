import { describe, expect, it } from '@jest/globals';
import type { Command, Option } from 'commander';
import { buildProgram } from '../program.js';
import { fakeIo } from '../spec/io.fixtures.js';
import { detachedArguments } from './detached.arguments.js';

const parsed = (args: readonly string[]): Command => {
  const program = buildProgram(fakeIo());
  const up = program.commands.find((command) => command.name() === 'up');
  if (up === undefined) throw new Error('there is no up');
  up.action(() => undefined);
  program.parse(['up', ...args], { from: 'user' });
  return up;
};

/** A value that is not the default, for each option that takes any text. */
const SAMPLES: Readonly<Record<string, string>> = {
  '--data': '/srv/data folder',
  '--provider': 'nspawn',
  '--control-planes': '5',
  '--workers': '7',
  '--kubernetes-version': 'v1.33.1',
  '--port': '8081',
  '--nats-address': '127.0.0.1',
  '--nats-websocket-port': '8443',
  '--publish-domain': 'clusters.example.org',
  '--publish-address': '127.0.0.3',
  '--tunnel-ssh-port': '2022',
  '--tunnel-tls-port': '443',
  '--replicas': '3',
  '--address': '127.0.0.2',
  '--tls-cert': '/srv/cert.pem',
  '--tls-key': '/srv/key.pem',
  '--tls-ca': '/srv/ca.pem',
};

const sampleOf = ({ long, argChoices }: Option): string => {
  const sample = argChoices?.at(-1) ?? SAMPLES[long ?? ''];
  if (sample === undefined) throw new Error(`give ${long} a sample here: it must reach the process in the background`);
  return sample;
};

const options = parsed([]).options.filter(({ long }) => long !== '--detach');
const argumentsOf = (option: Option): readonly string[] =>
  option.isBoolean() ? [option.long ?? ''] : [option.long ?? '', sampleOf(option)];

describe('the process that up --detach starts', () => {
  it.each(options.map((option) => [option.long ?? '', option] as const))('gets %s', (_long, option) => {
    const given = parsed(argumentsOf(option));
    expect(given.getOptionValueSource(option.attributeName())).toBe('cli');
    expect(parsed(detachedArguments(given)).opts()).toEqual(given.opts());
  });

  it('gets them all together, and does not detach again', () => {
    const given = parsed(['--detach', ...options.filter(({ long }) => long !== '--once').flatMap(argumentsOf)]);
    const { detach, ...rest } = given.opts<Readonly<Record<string, unknown>>>();
    expect(detach).toBe(true);
    expect(parsed(detachedArguments(given)).opts()).toEqual(rest);
  });
});
