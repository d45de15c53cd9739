import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder, removeFolder } from '@fairlead/testing';
import { EPOCH_FILE, underEpoch } from './epoch.js';

describe('a step of an installation, on a host', () => {
  let root: string;

  const run = (epoch: number): { readonly status: number | null; readonly stdout: string; readonly stderr: string } => {
    const file = join(root, 'step.sh');
    writeFileSync(file, underEpoch({ script: '#!/bin/sh\nset -eu\necho changed\n' }, epoch).script);
    return spawnSync('sh', [file], { env: { ...process.env, FAIRLEAD_ROOT: root }, encoding: 'utf8' });
  };
  const remembered = (): string | undefined =>
    existsSync(join(root, EPOCH_FILE)) ? readFileSync(join(root, EPOCH_FILE), 'utf8') : undefined;

  beforeEach(() => {
    root = newFolder('epoch');
  });
  afterEach(() => removeFolder(root));

  it('writes no epoch on a host that only the first installation has used', () => {
    expect(run(1)).toMatchObject({ status: 0, stdout: 'changed\n' });
    expect(remembered()).toBeUndefined();
  });

  it('is rejected after a later installation has used the host, and changes nothing', () => {
    expect(run(2)).toMatchObject({ status: 0, stdout: 'changed\n' });
    expect(remembered()).toBe('2\n');
    const refused = run(1);
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toContain(
      'another installation of Fairlead has taken this host over (epoch 2; this one has 1)',
    );
    expect(existsSync(join(root, 'step.sh'))).toBe(false);
    expect(run(3)).toMatchObject({ status: 0, stdout: 'changed\n' });
    expect(run(2).status).toBe(1);
  });

  it('ignores an invalid epoch', () => {
    run(2);
    writeFileSync(join(root, EPOCH_FILE), '$(reboot)\n');
    expect(run(1)).toMatchObject({ status: 0, stdout: 'changed\n', stderr: '' });
  });

  it('requires a script with an interpreter line', () =>
    expect(() => underEpoch({ script: 'echo' }, 1)).toThrow('interpreter'));
});
