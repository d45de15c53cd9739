/** A value of os-release(5); empty if it is missing. */
export const osValue = (osRelease: string, key: string): string =>
  osRelease
    .split('\n')
    .find((line) => line.startsWith(`${key}=`))
    ?.slice(key.length + 1)
    .replaceAll(/["']/g, '') ?? '';
