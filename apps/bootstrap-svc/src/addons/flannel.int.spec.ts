import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { SUBNET_OF_NODE } from './flannel.manifests.js';

describe("a node's range of the pod network", () => {
  it.each([
    ['10.244.0.1/24', '10.244.0.0/24'],
    ['10.244.1.1/25', '10.244.1.0/25'],
    ['10.244.1.129/25', '10.244.1.128/25'],
    ['10.0.16.1/20', '10.0.16.0/20'],
  ])("is derived from flannel's file, whatever its mask is: %s", (written, range) => {
    const env = { ...process.env, FLANNEL_SUBNET: written };
    expect(execFileSync('sh', ['-c', `${SUBNET_OF_NODE}; echo "$subnet"`], { env, encoding: 'utf8' })).toBe(
      `${range}\n`,
    );
  });
});
