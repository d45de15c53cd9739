import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileEntry, symlinkEntry } from '@fairlead/mirror';
import { textItem, type Layer } from './image.js';
import type { ImageRecipe } from './images.js';
import { Refusal } from './refusal.js';

/** The programs that run the tests. */
export const CONFORMANCE_PROGRAMS = ['e2e.test', 'ginkgo'] as const;

export interface TestImage {
  readonly name: string;
  readonly references: readonly string[];
  readonly recipe: ImageRecipe;
}

interface Ingredients {
  /** Folder of the compiled programs. */
  readonly programs: string;
  /** Folder of the module k8s.io/kubernetes. */
  readonly source: string;
  readonly busybox: Layer;
  /** bash-static. */
  readonly shell: Layer;
  /** Layer with TEST_TOOLS. */
  readonly tools: Layer;
}

const REPOSITORY = 'registry.k8s.io/e2e-test-images';

/**
 * The images that can be built without a registry, with the tags that this version's tests use. agnhost also replaces
 * jessie-dnsutils: tests use dig and getent in both; the original jessie-dnsutils has the C library of Debian 8,
 * agnhost that of Debian 13.
 */
export const testImages = async (given: Ingredients): Promise<readonly TestImage[]> => {
  const system = [given.busybox, shellLayer(given)];
  const manifest = await readFile(join(given.source, 'test/utils/image/manifest.go'), 'utf8');
  const reference = (id: string) => referenceIn(manifest, id);
  const jessie = reference('JessieDnsutils');
  return [
    {
      name: 'agnhost',
      references: [required(reference('Agnhost'), 'Agnhost'), ...(jessie === undefined ? [] : [jessie])],
      recipe: {
        layers: [...system, await agnhostLayer(given)],
        programs: { agnhost: join(given.programs, 'agnhost') },
        config: { entrypoint: ['/agnhost'], command: ['pause'] },
      },
    },
    {
      name: 'busybox',
      references: [required(reference('BusyBox'), 'BusyBox')],
      recipe: { layers: system, programs: {}, config: { command: ['sh'] } },
    },
    {
      name: 'nonewprivs',
      references: [required(reference('Nonewprivs'), 'Nonewprivs')],
      recipe: {
        layers: [...system, [await setuid('usr/local/bin/nnp', join(given.programs, 'nnp'))]],
        programs: {},
        config: { command: ['nnp'] },
      },
    },
  ];
};

/** `configs[Agnhost] = Config{list.PromoterE2eRegistry, "agnhost", "2.56"}` */
export const referenceIn = (manifest: string, id: string): string | undefined => {
  const found = new RegExp(
    `configs\\[${id}\\]\\s*=\\s*Config\\{list\\.PromoterE2eRegistry, "([^"]+)", "([^"]+)"\\}`,
  ).exec(manifest);
  return found === null ? undefined : `${REPOSITORY}/${found[1] ?? ''}:${found[2] ?? ''}`;
};

const required = (reference: string | undefined, id: string): string => {
  if (reference !== undefined) return reference;
  throw new Refusal(`These tests name no image ${id} any more; tools/kubernetes/src/conformance.ts must follow.`);
};

/**
 * Debian's busybox prefers its own nc to /usr/bin/nc, and its shell drops environment variables such as data-1. The
 * busybox of the official images is built with other options; bash behaves like it.
 */
const shellLayer = ({ shell }: Ingredients): Layer => [
  ...shell.filter(({ entry }) => entry.path === 'usr/bin/bash-static'),
  { entry: symlinkEntry('usr/bin/sh', 'bash-static') },
];

/** Added to its program: tools, a certificate for HTTPS, a second name, and the user that the tests expect. */
const agnhostLayer = async ({ source, tools }: Ingredients): Promise<Layer> => {
  const porter = (name: string) => readFile(join(source, 'test/images/agnhost/porter', name), 'utf8');
  return [
    textItem(
      'etc/group',
      'root:x:0:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\nnogroup:x:65534:\n',
    ),
    textItem(
      'etc/passwd',
      'root:x:0:0:root:/root:/bin/sh\nuser-defined-in-image:x:1000:1000::/:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n',
    ),
    textItem('localhost.crt', await porter('localhost.crt')),
    textItem('localhost.key', await porter('localhost.key')),
    { entry: symlinkEntry('agnhost-2', 'agnhost') },
    { entry: { path: 'uploads', type: 'directory', mode: 0o755, size: 0, target: '' } },
    ...tools,
    { entry: symlinkEntry('usr/bin/nc', 'nc.openbsd') },
  ];
};

const setuid = async (path: string, file: string) => {
  const content = await readFile(file);
  return { entry: fileEntry(path, content.length, 0o6755), content };
};
