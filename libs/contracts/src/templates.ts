/** The names in {braces} of a text. */
export type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value));

/** Fills the placeholders of a text; list items are separated by commas. */
export const fillTemplate = <Text extends string>(
  text: Text,
  values: Readonly<Record<Placeholders<Text>, unknown>>,
): string => text.replaceAll(/\{(\w+)\}/g, (_all, name: string) => textOf((values as Record<string, unknown>)[name]));
