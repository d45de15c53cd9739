import { parseMasterKeys, type MasterKeys } from '@fairlead/embedded/credentials';
import { readFileSync } from 'node:fs';

/** Where the master keys of a service are. */
export interface MasterKeySource {
  /** As they were when they were last read. */
  known(): MasterKeys;
  /** As they are now: a rotation changes them under a running service. */
  fresh(): MasterKeys;
}

/** The master key file. Throws where it cannot be used. */
export class MasterKeyFile implements MasterKeySource {
  private keys: MasterKeys;

  constructor(private readonly file: string) {
    this.keys = this.read();
  }

  known(): MasterKeys {
    return this.keys;
  }

  fresh(): MasterKeys {
    this.keys = this.read();
    return this.keys;
  }

  private read(): MasterKeys {
    try {
      return parseMasterKeys(readFileSync(this.file, 'utf8'));
    } catch (error) {
      throw new Error(`${this.file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }
}
