import { parseYamlDocuments } from '@fairlead/parsers';
import { readFileSync } from 'node:fs';
import type { Manifest } from './kubernetes/kubernetes.ports.js';

/** Next to src and dist: the sources, their build and the bundle, dist/bundle.cjs, all find it one folder up. */
const FOLDER = new URL('../upstream/', import.meta.url);

/** The largest file has 1 MiB. */
const LIMITS = { lengthMax: 4 * 1_048_576, valuesMax: 500_000 };

const read = new Map<string, readonly Manifest[]>();

/** The manifests of one vendored file, unchanged; parsed on first use. */
export const upstreamManifests = (file: string): readonly Manifest[] => {
  const parsed = read.get(file);
  if (parsed !== undefined) return parsed;
  const documents = parseYamlDocuments(readFileSync(new URL(file, FOLDER), 'utf8'), LIMITS);
  const manifests = documents.filter((document) => document !== null) as unknown as readonly Manifest[];
  read.set(file, manifests);
  return manifests;
};
