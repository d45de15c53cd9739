import { describe, expect, it } from '@jest/globals';
import { Faults } from './faults.js';

const faults = (...items: readonly object[]): Faults => {
  const armed = new Faults([], () => undefined);
  armed.replace(items.map((item) => ({ machine: '*', ...item })) as never);
  return armed;
};

describe('faults', () => {
  it('strike machines that match their pattern, at most as often as requested', () => {
    const armed = faults({ kind: 'boot-failure', machine: 'demo-?-*', times: 2 });
    expect(armed.strike('boot-failure', 'other')).toBeUndefined();
    expect(armed.strike('ssh-slow', 'demo-w-1')).toBeUndefined();
    expect(armed.strike('boot-failure', 'demo-w-1')).toBeDefined();
    expect(armed.list()).toMatchObject([{ times: 1 }]);
    expect(armed.strike('boot-failure', 'demo-w-2')).toBeDefined();
    expect(armed.strike('boot-failure', 'demo-w-3')).toBeUndefined();
  });

  it.each([
    ['kubeadm init', 'kubeadm init --config x', true],
    ['kubeadm init', 'kubeadm initialise', false],
    ['kubeadm*upload-certs*', 'kubeadm init phase upload-certs --upload-certs', true],
    ['apt-get (x)', 'apt-get (x)', true],
    [undefined, 'anything', true],
  ])('match the command pattern %s against %s: %s', (command, line, expected) => {
    const armed = faults({ kind: 'command-failure', ...(command === undefined ? {} : { command }) });
    expect(armed.strikeCommand('m', line) !== undefined).toBe(expected);
  });
});
