/** Like Compose: `${NAME:-default}` is the variable, or the default where it is unset or empty. */
export const interpolated = (text: string, variables: Readonly<Record<string, string>> = {}): string => {
  const inner = text.replaceAll(
    /\$\{(\w+):-([^${}]*)\}/g,
    (_, name: string, standard: string) => variables[name] || standard,
  );
  return inner === text ? text : interpolated(inner, variables);
};
