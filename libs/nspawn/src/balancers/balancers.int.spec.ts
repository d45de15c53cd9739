import { newFolder, removeFolder } from '@fairlead/testing';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { check, itWith } from '@fairlead/testing/programs';
import { haproxyConfig } from './haproxy.config.js';

let folder: string;
beforeEach(() => {
  folder = newFolder('balancer');
});
afterEach(() => removeFolder(folder));

/** haproxy's own errors about the text. */
const faultsOf = (text: string): readonly string[] => {
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, text);
  const { code, lines } = check('haproxy', ['-c', '-f', file]);
  const faults = lines.filter((line) => /ALERT|WARNING/.test(line));
  return code === 0 ? faults : [...faults, `exit code ${code}`];
};

itWith('haproxy').each([0, 1, 3])('haproxy accepts the configuration for %d API servers', (count) => {
  const targets = Array.from({ length: count }, (_, at) => ({
    name: `cp-${at}`,
    address: `198.18.7.${11 + at}`,
    port: 6443,
  }));
  const text = haproxyConfig({ address: '127.0.0.1', port: 6443, healthPath: '/readyz', targets });
  expect(faultsOf(text)).toEqual([]);
  expect(faultsOf(text.replace('mode tcp', 'mode tpc'))).not.toEqual([]);
});
