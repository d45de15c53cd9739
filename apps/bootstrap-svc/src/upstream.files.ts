import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from './kubernetes/kubernetes.ports.js';

/** Beside src and dist: the sources, their build and the bundle, dist/bundle.cjs, all find it one folder up. */
const FOLDER = new URL('../upstream/', import.meta.url);

const read = new Map<string, readonly Manifest[]>();

/** The manifests of one vendored file, as upstream wrote them; parsed when they are first needed. */
export const upstreamManifests = (file: string): readonly Manifest[] => {
  const parsed = read.get(file);
  if (parsed !== undefined) return parsed;
  const manifests = parseAllDocuments(readFileSync(new URL(file, FOLDER), 'utf8')).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    const manifest = document.toJS() as Manifest | null;
    return manifest === null ? [] : [manifest];
  });
  read.set(file, manifests);
  return manifests;
};
