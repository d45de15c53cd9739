/**
 * A function of an object that computes its result once. Stored objects never change, a write stores another one: so a controller that looks
 * at all nodes or pods computes only what is new.
 */
export const remembered = <K extends object, V>(compute: (key: K) => V): ((key: K) => V) => {
  const results = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = results.get(key) ?? { value: compute(key) };
    results.set(key, known);
    return known.value;
  };
};
