import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { examplesOf, SHARED_HEADING, sharedOptions, titleOf } from './command/command.js';
import { Session } from './command/session.js';
import { buildProgram } from './program.js';
import { FakeGateway } from './spec/gateway.fixtures.js';
import { fakeIo, run } from './spec/io.fixtures.js';

const gateway = new FakeGateway();
let folder: string;

const MANIFEST = `apiVersion: fairlead.dev/v1alpha1
kind: Cluster
metadata: { name: demo }
spec: { controlPlane: { connection: lab, machineType: lab.small } }
`;

beforeAll(async () => {
  await gateway.start();
  folder = newFolder('shared-options');
  for (const file of ['demo.yaml', 'cluster.yaml', 'clusters.yaml']) writeFileSync(join(folder, file), MANIFEST);
  for (const file of ['client-secret', 'secret', 'realm.secret', 'keycloak.secret'])
    writeFileSync(join(folder, file), 'x');
});

afterAll(async () => {
  await gateway.stop();
  removeFolder(folder);
});

const leavesOf = (command: Command): readonly Command[] =>
  command.commands
    .flatMap((child) => (child.commands.length > 0 ? leavesOf(child) : [child]))
    .filter((child) => !child.name().startsWith('__'));

const takes = (command: Command, long: string): boolean => command.options.some((option) => option.long === long);

/** The words of an example after `fairlead`; its files are in the folder of the spec. */
const wordsOf = (line: string): readonly string[] => {
  const [, words = ''] = /(?:^|[|(] *)fairlead ([^|>&)]*)/.exec(line) ?? [];
  const all = (words.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll(/["']/g, ''));
  return all.map((word, at) =>
    /^(-f|--filename|--secret-file|--values-file)$/.test(all[at - 1] ?? '') ? fileOf(word) : word,
  );
};

/** The examples of `connection accept-host-key` abbreviate it. */
const FINGERPRINT = `SHA256:${'a'.repeat(43)}`;

/** The options that the command requires, with the values of its examples. */
const requiredBy = (command: Command): readonly string[] => {
  const examples = examplesOf(command).map(([line]) => wordsOf(line));
  return command.options.flatMap(({ mandatory, long, short }) => {
    if (!mandatory) return [];
    const names = [long, short];
    const value = examples.flatMap((words) => words.filter((_, at) => names.includes(words[at - 1])))[0];
    return [
      long ?? '',
      long === '--key' && command.name() === 'accept-host-key' ? FINGERPRINT : (value ?? 'no example has it'),
    ];
  });
};

const fileOf = (word: string): string => join(folder, word.endsWith('.yaml') ? 'demo.yaml' : 'secret');

/** The shared options, each with a value that its parser accepts. */
const VALUES: Readonly<Record<string, string>> = {
  '--namespace': 'team-a',
  '--output': 'table',
  '--context': 'other',
  '--server': 'http://127.0.0.1:1',
  '--token-file': 'token',
  '--ca-file': 'ca.pem',
  '--data': 'data',
};

type Getter = 'namespace' | 'namespaceOption' | 'api';

/** The properties of the session that a command reads when its examples run against a fake server. */
const readBy = async (command: Command): Promise<ReadonlySet<Getter>> => {
  const read = new Set<Getter>();
  const spies = (['namespace', 'namespaceOption', 'api'] as const).map((name) => {
    const get = Object.getOwnPropertyDescriptor(Session.prototype, name)?.get;
    return jest.spyOn(Session.prototype, name, 'get').mockImplementation(function (this: Session) {
      read.add(name);
      return get?.call(this) as never;
    });
  });
  for (const [line] of examplesOf(command)) {
    const env = { FAIRLEAD_SERVER: gateway.url, FAIRLEAD_TOKEN: 'x' };
    const io = fakeIo({ cwd: folder, answer: 'yes', env });
    // A stream would be followed forever.
    const looking = setInterval(() => gateway.listeners > 0 && io.pressCtrlC(), 20);
    await run(wordsOf(line), io);
    clearInterval(looking);
  }
  for (const spy of spies) spy.mockRestore();
  return read;
};

describe('a shared option', () => {
  const leaves = leavesOf(buildProgram(fakeIo()));
  const asking = leaves.filter((leaf) =>
    leaf.options.some(({ long, helpGroupHeading }) => long === '--server' && helpGroupHeading === SHARED_HEADING),
  );

  it.each(asking.map((leaf) => ({ title: titleOf(leaf), leaf })))(
    'is used by the command: $title',
    async ({ leaf }) => {
      const read = await readBy(leaf);
      expect(read.has('api')).toBe(true);
      expect(read.has('namespace') || read.has('namespaceOption')).toBe(takes(leaf, '--namespace'));
    },
  );

  const unused = leaves.flatMap((leaf) =>
    Object.keys(VALUES)
      .filter((option) => !takes(leaf, option))
      .map((option) => ({ title: titleOf(leaf), leaf, option })),
  );

  it('has a value here, each of them', () => {
    expect(Object.keys(VALUES).toSorted()).toEqual(
      sharedOptions('server')
        .map(({ long }) => long)
        .toSorted(),
    );
  });

  it.each(unused)(
    'is refused before and after a command that does not use it: $title $option',
    async ({ leaf, title, option }) => {
      const words = title.split(' ').slice(1);
      const operands = leaf.registeredArguments
        .filter(({ required }) => required)
        .map(({ argChoices }) => argChoices?.[0] ?? 'x')
        .concat(requiredBy(leaf));
      const given = [option, VALUES[option] ?? ''];
      for (const args of [
        [...words, ...operands, ...given],
        [...given, ...words, ...operands],
      ]) {
        const { code, stderr } = await run(args);
        expect([code, stderr]).toEqual([2, expect.stringContaining(`"${title}" does not use ${option}`)]);
      }
    },
  );
});
