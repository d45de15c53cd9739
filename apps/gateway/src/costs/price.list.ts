import { PriceList } from '@fairlead/contracts';
import { parseYaml } from '@fairlead/parsers';
import { ConfigurationError } from '@fairlead/service-kit';
import { readFile } from 'node:fs/promises';

export const PRICES = Symbol('gateway.prices');

const LIMITS = { lengthMax: 1_048_576, valuesMax: 100_000 };

/** Throws ConfigurationError with every fault of the file. */
export const readPrices = async (file: string | undefined): Promise<PriceList | undefined> => {
  if (file === undefined) return undefined;
  const fault = (words: string): ConfigurationError => new ConfigurationError([`PRICE_LIST (${file}): ${words}`]);
  let value: unknown;
  try {
    value = parseYaml(await readFile(file, 'utf8'), LIMITS);
  } catch (error) {
    throw fault(error instanceof Error ? error.message : String(error));
  }
  const parsed = PriceList.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ConfigurationError(
    parsed.error.issues.map(({ path, message }) => `PRICE_LIST (${file}): ${path.join('.') || 'it'} ${message}`),
  );
};
