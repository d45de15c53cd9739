import { newFolder, removeFolder } from '@fairlead/testing';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { QUESTIONS } from '../../../../test/recorded/questions.js';
import { recorded } from '../../../../test/recorded/recorded.js';
import { ENDING_TEXT } from './kubelet.unit.item.js';

describe('the script that runs when a kubelet has stopped', () => {
  let folder: string;

  const program = (name: string, text: string): void => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  /** The signals that containers received, in order. */
  const run = (state: string): readonly string[] => {
    program('systemctl', `echo ${state}`);
    const env = { PATH: `${folder}:${process.env['PATH'] ?? ''}`, FOLDER: folder };
    const { status, stderr } = spawnSync('/bin/sh', ['-c', ENDING_TEXT], { env, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
    const calls = join(folder, 'calls');
    return existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
  };
  const ctr = (whenAsked: string): void => {
    writeFileSync(join(folder, 'tasks'), recorded('v1.34.4', QUESTIONS.tasks));
    const kill = `echo "$6" >>"$FOLDER/calls"; ${whenAsked}`;
    program('ctr', `case "$*" in *"tasks ls") cat "$FOLDER/tasks";; *"tasks kill"*) ${kill};; esac`);
  };
  const containers = recorded('v1.34.4', QUESTIONS.tasks).match(/RUNNING/g)?.length ?? 0;

  beforeEach(() => {
    folder = newFolder('ending');
    program('sleep', 'exit 0');
  });
  afterEach(() => removeFolder(folder));

  it.each(['running', 'degraded', 'maintenance'])('stops no container on a host that is %s', (state) => {
    ctr(':');
    expect(run(state)).toEqual([]);
  });

  it('stops every container of a host that shuts down, and nothing else', () => {
    ctr(': >"$FOLDER/tasks"');
    const signals = run('stopping');
    expect(new Set(signals)).toEqual(new Set(['SIGTERM']));
    expect(signals).toHaveLength(containers);
  });

  it('kills containers that do not stop', () => {
    ctr(':');
    const signals = run('stopping');
    expect(signals.filter((signal) => signal === 'SIGKILL')).toHaveLength(containers);
  });
});
