import type { Manifest } from '../kubernetes/kubernetes.ports.js';

/** A field of an object, or the list element with this name. */
export type Step = string | { readonly named: string };
export type Path = readonly Step[];

/** One change of an upstream manifest. */
export type Patch = (manifests: readonly Manifest[]) => readonly Manifest[];

type Json = Readonly<Record<string, unknown>>;
interface Edit {
  readonly object: string;
  readonly path: Path;
  readonly change: { readonly value: unknown } | 'remove';
}

export const named = (name: string): Step => ({ named: name });

const POD: Path = ['spec', 'template', 'spec'];
export const inPod = (...path: Path): Path => [...POD, ...path];
export const inContainer = (name: string, ...path: Path): Path => inPod('containers', named(name), ...path);

/** A path that upstream no longer has is an error, so that a new release cannot silently drop a patch. */
const gone = ({ object, path }: Edit): Error =>
  new Error(
    `upstream has no ${object}${path.map((step) => (typeof step === 'string' ? `.${step}` : `[${step.named}]`)).join('')}`,
  );

const inList = (list: readonly unknown[], name: string, rest: Path, edit: Edit): unknown => {
  const index = list.findIndex((element) => (element as Json)['name'] === name);
  const isLast = rest.length === 0;
  if (index < 0 && isLast && edit.change !== 'remove') return [...list, edit.change.value];
  if (index < 0) throw gone(edit);
  return isLast && edit.change === 'remove'
    ? list.filter((_, at) => at !== index)
    : list.with(index, edited(list[index], rest, edit));
};

const inObject = (object: Json, field: string, rest: Path, edit: Edit): unknown => {
  const { [field]: child, ...others } = object;
  const isLast = rest.length === 0;
  if (child === undefined && (!isLast || edit.change === 'remove')) throw gone(edit);
  if (isLast && edit.change === 'remove') return others;
  return { ...object, [field]: edited(child, rest, edit) };
};

const edited = (node: unknown, [step, ...rest]: Path, edit: Edit): unknown => {
  if (step === undefined) return edit.change === 'remove' ? undefined : edit.change.value;
  if (typeof step === 'string') return inObject(node as Json, step, rest, edit);
  return inList(node as readonly unknown[], step.named, rest, edit);
};

const patchOf =
  (edit: Edit): Patch =>
  (manifests) => {
    const isIt = ({ kind, metadata }: Manifest): boolean => `${kind}/${metadata.name}` === edit.object;
    if (!manifests.some(isIt)) throw gone(edit);
    return manifests.map((manifest) => (isIt(manifest) ? (edited(manifest, edit.path, edit) as Manifest) : manifest));
  };

/** Sets a field, or the list element with this name; appends the element if the list has none. */
export const set = (object: string, path: Path, value: unknown): Patch => patchOf({ object, path, change: { value } });

/** Removes an existing field or element. */
export const remove = (object: string, path: Path): Patch => patchOf({ object, path, change: 'remove' });

/** Sets an environment variable of a container of a pod template. */
export const setEnv = (object: string, container: Path, name: string, value: string): Patch =>
  set(object, [...container, 'env', named(name)], { name, value });

/** Pulls the images of one registry from another. */
export const fromRegistry =
  (registry: string, replacement: string): Patch =>
  (manifests) =>
    manifests.map((manifest) => withImages(manifest, registry, replacement) as Manifest);

const withImages = (node: unknown, registry: string, replacement: string): unknown => {
  if (Array.isArray(node)) return node.map((element) => withImages(element, registry, replacement));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([field, value]) => [
      field,
      field === 'image' && typeof value === 'string' && value.startsWith(registry)
        ? `${replacement}${value.slice(registry.length)}`
        : withImages(value, registry, replacement),
    ]),
  );
};

export const patched = (manifests: readonly Manifest[], patches: readonly Patch[]): readonly Manifest[] =>
  patches.reduce((result, patch) => patch(result), manifests);
