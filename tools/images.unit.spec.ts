import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OWN = 'fairlead:latest';

const imagesIn = (file: string): readonly string[] =>
  [...readFileSync(`${ROOT}${file}`, 'utf8').matchAll(/^\s*(?:FROM|image:)\s+(\S+)/gm)].map(([, image = '']) => image);

describe('the images that Fairlead is built from and runs beside', () => {
  it.each(['Dockerfile', 'docker-compose.yml'])('are pinned by digest in %s', (file) => {
    const foreign = imagesIn(file).filter((image) => image !== OWN);
    expect(foreign).not.toEqual([]);
    expect(foreign.filter((image) => !/^[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
  });
});
