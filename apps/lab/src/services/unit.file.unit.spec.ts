import { describe, expect, it } from '@jest/globals';
import { expandVariables, parseEnvironmentFile, parseUnit, splitCommandLine } from './unit.file.js';

describe('a unit file', () => {
  it('defines what to start, with which environment, and when to restart it', () => {
    const unit = parseUnit([
      '[Unit]\nDescription=Agent\n# a comment\n[Service]\nExecStart=/usr/bin/node \\\n  /opt/agent.mjs\nEnvironment=A=1 "B=two words"\nEnvironmentFile=-/etc/default/agent\nRestart=always\nRestartSec=2\n',
    ]);
    expect(unit).toMatchObject({
      description: 'Agent',
      environment: { A: '1', B: 'two words' },
      environmentFiles: ['-/etc/default/agent'],
      restart: 'always',
      restartDelayMs: 2_000,
    });
    expect(splitCommandLine(unit.execStart)).toEqual(['/usr/bin/node', '/opt/agent.mjs']);
  });

  it('is changed by its drop-ins, and cleared by an empty value', () => {
    const unit = parseUnit([
      '[Service]\nExecStart=/bin/a\nRestart=no\n',
      '[Service]\nExecStart=\nExecStart=/bin/b $ARGS\n',
    ]);
    expect(unit).toMatchObject({ execStart: '/bin/b $ARGS', restart: 'no', type: 'simple' });
  });

  it('splits its command line at blanks outside of quotes', () => {
    expect(splitCommandLine(`-/bin/x "a b" 'c "d"' e`)).toEqual(['/bin/x', 'a b', 'c "d"', 'e']);
    expect(expandVariables('${A}/$B-$C', { A: 'x', B: 'y' })).toBe('x/y-');
    expect(parseEnvironmentFile('A=1\n# no\nB="two words"\n')).toEqual({ A: '1', B: 'two words' });
  });
});
