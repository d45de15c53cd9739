import { describe, expect } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { check, itInNetwork } from '@fairlead/testing/programs';

describe('nft', () => {
  const fileOf = (name: string): string => fileURLToPath(new URL(`golden/${name}.nft`, import.meta.url));

  // In a separate network namespace, because even a check accesses the kernel.
  itInNetwork('nft').each(['inbound', 'outbound'])('understands the rules: %s', (name) => {
    expect(check('unshare', ['--net', 'nft', '-c', '-f', fileOf(name)])).toEqual({ code: 0, lines: [] });
  });
});
