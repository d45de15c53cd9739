import { isJsonObject, type Json } from '../objects/json.js';

/** RFC 7396: null removes, objects merge, everything else replaces. */
export const applyMergePatch = (target: Json | undefined, patch: Json): Json => {
  if (!isJsonObject(patch)) return patch;
  const merged: Record<string, Json> = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = applyMergePatch(merged[key], value);
  }
  return merged;
};
