import { HELM_VERSION } from '@fairlead/mirror';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OWN = 'fairlead:latest';

const imagesIn = (file: string): readonly string[] =>
  [...readFileSync(`${ROOT}${file}`, 'utf8').matchAll(/^\s*(?:FROM|image:)\s+(\S+)/gm)].map(([, image = '']) => image);

describe('the base images and companions of Fairlead', () => {
  it.each(['Dockerfile', 'docker-compose.yml'])('are pinned by digest in %s', (file) => {
    const foreign = imagesIn(file).filter((image) => image !== OWN);
    expect(foreign).not.toEqual([]);
    expect(foreign.filter((image) => !/^[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
  });

  it('use the helm version that was tested', () => {
    const text = readFileSync(`${ROOT}Dockerfile`, 'utf8');
    expect(text).toContain(`helm.sh/helm/v3/cmd/helm@${HELM_VERSION}`);
    expect(text.match(/HELM_PROGRAM=(\S+)/)?.[1]).toBe(text.match(/COPY --from=helm \S+ (\S+)/)?.[1]);
  });
});
