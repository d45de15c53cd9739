import { describe, expect, it } from '@jest/globals';
import { QUESTIONS } from '../../../test/recorded/questions.js';
import { recorded, RECORDED_VERSIONS } from '../../../test/recorded/recorded.js';
import { imagesOf, releaseOf } from './software.js';

describe.each(RECORDED_VERSIONS)('the release %s', (version) => {
  it('has the images that its own kubeadm lists', () => {
    const release = releaseOf(version);
    const listed = recorded(version, QUESTIONS.images)
      .split('\n')
      .filter((line) => line.startsWith('registry.k8s.io/'));
    expect(release === undefined ? [] : imagesOf(release).map(({ reference }) => reference)).toEqual(
      expect.arrayContaining(listed),
    );
    expect(listed).toHaveLength(7);
  });
});
