import { Command } from 'commander';
import { addCommand, runs, sharedOptions } from './command/command.js';
import { commandNamed } from './command/suggestions.js';
import { EXIT_CODES } from './exit-codes.js';
import type { Io } from './io/io.js';
import { addApplicationCommands } from './application/application.commands.js';
import { addAutoscalerCommands } from './autoscaler/autoscaler.commands.js';
import { addBundleCommands } from './bundle/bundle.commands.js';
import { addCertificateCommands } from './certificates/certificates.commands.js';
import { addClusterCommands } from './cluster/cluster.commands.js';
import { addCompletionCommands } from './completion/completion.commands.js';
import { addContextCommands } from './context/context.commands.js';
import { addConnectionCommands } from './connection/connection.commands.js';
import { addEtcdCommands } from './etcd/etcd.commands.js';
import { addAuditCommands } from './events/audit.commands.js';
import { addEventCommands } from './events/events.commands.js';
import { addHookCommands } from './hook/hook.commands.js';
import { addHandoverCommands } from './handover/handover.commands.js';
import { addInitCommand } from './init/init.commands.js';
import { addKeysCommands } from './keys/keys.commands.js';
import { addKubeconfigCommand } from './kubeconfig/kubeconfig.commands.js';
import { addManifestCommands } from './manifest/manifest.commands.js';
import { addLabCommands } from './lab/lab.commands.js';
import { addNamespaceCommands } from './namespace/namespace.commands.js';
import { addNodeCommands } from './node/node.commands.js';
import { addQuarantineCommands } from './quarantine/quarantine.commands.js';
import { addPoolCommands } from './pool/pool.commands.js';
import { addProvisionCommands } from './provision/provision.commands.js';
import { addRealmCommands } from './realm/realm.commands.js';
import { addSupportCommand } from './support/support.commands.js';
import { addTemplateCommands } from './template/template.commands.js';
import { addTokenCommands } from './token/token.commands.js';
import { addUpgradeCommands } from './upgrade/upgrade.commands.js';
import { addValidateCommands } from './validate/validate.commands.js';
import { addUpCommands } from './up/up.commands.js';
import { addVersionCommand } from './version.commands.js';
import { addWhoamiCommand } from './whoami/whoami.commands.js';
import { VERSION } from './version.js';

/** Longer lines are hard to read, and a pipe has no width. */
const HELP_COLUMNS_MAX = 120;

/** The whole command tree. Building it does nothing: documentation and completion read it too. */
export const buildProgram = (io: Io): Command => {
  const program = new Command('fairlead')
    .description(
      'Creates and operates Kubernetes clusters on any machines, and records what happened, when, why and on whose request.',
    )
    .version(VERSION, '-V, --version', 'print the version of this program')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: false, sortSubcommands: false })
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: () => undefined, // runCli says it, with its help and as JSON when asked to.
      getOutHasColors: () => io.colors.isColorSupported,
      getErrHasColors: () => io.colors.isColorSupported,
      getOutHelpWidth: () => Math.min(io.outColumns(), HELP_COLUMNS_MAX),
      getErrHelpWidth: () => Math.min(io.errColumns(), HELP_COLUMNS_MAX),
    })
    .addHelpText('after', exitCodesText);
  for (const option of sharedOptions('server')) program.addOption(option);

  addUpCommands(program, io);
  addClusterCommands(program, io);
  addInitCommand(program, io);
  addValidateCommands(program, io);
  addManifestCommands(program, io);
  addTemplateCommands(program, io);
  addNodeCommands(program, io);
  addPoolCommands(program, io);
  addAutoscalerCommands(program, io);
  addHookCommands(program, io);
  addUpgradeCommands(program, io);
  addEtcdCommands(program, io);
  addCertificateCommands(program, io);
  addEventCommands(program, io);
  addAuditCommands(program, io);
  addKubeconfigCommand(program, io);
  addNamespaceCommands(program, io);
  addConnectionCommands(program, io);
  addRealmCommands(program, io);
  addApplicationCommands(program, io);
  addLabCommands(program, io);
  addTokenCommands(program, io);
  addContextCommands(program, io);
  addWhoamiCommand(program, io);
  addQuarantineCommands(program, io);
  addProvisionCommands(program, io);
  addHandoverCommands(program, io);
  addKeysCommands(program, io);
  addBundleCommands(program, io);
  addSupportCommand(program, io);
  addVersionCommand(program, io);
  addCompletionCommands(program, io);
  addHelpCommand(program, io);
  return program;
};

/** Commander's own explains the first word only. */
const addHelpCommand = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'help',
    summary: 'Show help for a command',
    shared: 'none',
    examples: [['fairlead help cluster create', 'Show the help of a command']],
  })
    .argument('[command...]', 'the command, word by word')
    .action(runs(io, async (_session, words: readonly string[]) => commandNamed(program, words).outputHelp()));
};

const exitCodesText = (): string =>
  `\nExit codes:\n${Object.values(EXIT_CODES)
    .map(({ code, meaning }) => `  ${String(code).padStart(3)}  ${meaning}`)
    .join('\n')}\n`;
