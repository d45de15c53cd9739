/**
 * Memoizes a function of an object. Stored objects are immutable and a write stores a new one, so a controller that
 * visits all nodes or pods computes only new results.
 */
export const remembered = <K extends object, V>(compute: (key: K) => V): ((key: K) => V) => {
  const results = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = results.get(key) ?? { value: compute(key) };
    results.set(key, known);
    return known.value;
  };
};
