import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inputOfSentStep, nameOfSentStep, sentStep, stepFile } from './sent.step.js';

const STEP = {
  name: 'verify-a1',
  script: `#!/bin/sh\ncat\nprintf '%s' "it's \\\\ \${0##*/}"\n`,
  input: { some: "it's" },
};

describe('a step sent to a host', () => {
  let root: string;

  beforeEach(() => {
    root = newFolder('sent-step');
  });

  afterEach(() => removeFolder(root));

  const run = (stdin: string) => {
    const { command } = sentStep(STEP);
    const env = { ...process.env, FAIRLEAD_ROOT: root };
    return spawnSync('/bin/sh', ['-c', command], { env, input: stdin, encoding: 'utf8' });
  };
  const file = (): string => join(root, stepFile(STEP.name));

  it('runs from its own file, readable only by its owner, and without standard input', () => {
    const { status, stdout, stderr } = run(sentStep(STEP).stdin);
    expect([status, stdout, stderr]).toEqual([0, "it's \\ verify-a1.sh", '']);
    expect(readFileSync(file(), 'utf8')).toBe(STEP.script);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it('does nothing if it was cut off at any point', () => {
    const { stdin } = sentStep(STEP);
    for (let length = 0; length < stdin.length - 'step\n'.length; length += 1) run(stdin.slice(0, length));
    expect(existsSync(file())).toBe(false);
  });

  it('has only a name in its command line', () => {
    expect(sentStep(STEP).command).toBe('sh -s verify-a1');
    expect(nameOfSentStep('sh -s verify-a1')).toBe('verify-a1');
    expect(nameOfSentStep('sh -s a;b')).toBeUndefined();
    expect(() => sentStep({ ...STEP, name: 'verify-$(id)' })).toThrow('no name');
  });

  it('contains its input, unless it was cut off', () => {
    const { stdin } = sentStep({ ...STEP, script: '\n# input {"other":1}\nstep\n' });
    expect(inputOfSentStep(stdin)).toEqual({ input: STEP.input });
    expect(inputOfSentStep(stdin.slice(0, -1))).toBeUndefined();
  });
});
