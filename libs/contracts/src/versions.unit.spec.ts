import { describe, expect, it } from '@jest/globals';
import {
  compareVersions,
  isMinorChange,
  minorOf,
  minorsAhead,
  newestVersion,
  oldestVersion,
  parseVersion,
  versionOf,
} from './versions.js';

describe('a version', () => {
  it.each([
    ['1.34.4', [1, 34, 4]],
    ['v1.34.4', [1, 34, 4]],
    ['1.34', [1, 34, 0]],
    ['3.6.5-0', [3, 6, 5]],
    ['v1.34.0-rc.1', [1, 34, 0]],
    ['1.34.4+build', [1, 34, 4]],
    ['1.34.4-1.1', [1, 34, 4]],
    ['1.7.24~ds1-6+deb12u1', [1, 7, 24]],
    ['2.12.0-RC.3', [2, 12, 0]],
  ])('is found in %s', (text, [major, minor, patch]) => expect(versionOf(text)).toMatchObject({ major, minor, patch }));

  it.each(['', 'latest', 'v1', '34', 'stable-1.34', 'sha256:1.2.3'])('is not found in %j', (text) => {
    expect(parseVersion(text)).toBeUndefined();
    expect(() => versionOf(text)).toThrow(`"${text}" is not a version`);
  });

  it.each([
    ['1.7.24', '1.7.24', 0],
    ['v1.7.24', '1.7.24', 0],
    ['3.6.5-0', '3.6.5', 0],
    ['1.6.20', '1.7.24', -1],
    ['2.0.0', '1.7.24', 1],
    ['1.10.0', '1.9.9', 1],
    ['1.9', '1.9.1', -1],
    ['unknown', '0.0.1', -1],
  ])('%s compared with %s gives the sign %d', (one, other, sign) =>
    expect(Math.sign(compareVersions(one, other))).toBe(sign),
  );

  it('is compared by number, not by letter, to find the oldest or newest', () => {
    const versions = ['v1.34.4', 'v1.34.10', 'v1.33.13'];
    expect([oldestVersion(versions), newestVersion(versions)]).toEqual(['v1.33.13', 'v1.34.10']);
    expect([oldestVersion([]), newestVersion([])]).toEqual([undefined, undefined]);
  });

  it('has a minor, and the number of minors between it and another', () => {
    expect(minorOf('v1.34.4')).toBe('1.34');
    expect(['1.33.9', '1.34.0', '1.35.1'].map((to) => minorsAhead('1.34.4', to))).toEqual([-1, 0, 1]);
    expect(minorsAhead('3.6.5', '4.0.0')).toBe(Number.POSITIVE_INFINITY);
    expect([isMinorChange('1.34.4', '1.34.9'), isMinorChange('1.34.4', '1.35.0')]).toEqual([false, true]);
  });
});
