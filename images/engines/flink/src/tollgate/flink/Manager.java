package tollgate.flink;

import org.apache.flink.client.deployment.application.ApplicationClusterEntryPoint;
import org.apache.flink.client.program.PackagedProgram;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.plugin.PluginUtils;
import org.apache.flink.runtime.entrypoint.ClusterEntrypointException;
import org.apache.flink.runtime.resourcemanager.StandaloneResourceManagerFactory;

/**
 * The job manager in application mode, as Flink's own standalone program starts it.
 *
 * <p>That program ends itself with an exit code of its own (165) once its cluster was closed, even
 * where the process is ending with 0 already, and now and then is the first to be heard: this one
 * waits for its end then.
 */
final class Manager extends ApplicationClusterEntryPoint {
    private Manager(Configuration settings, PackagedProgram job) {
        super(settings, job, StandaloneResourceManagerFactory.getInstance());
    }

    /** Run the job to its end, which as its input has none is a failure; its exit code. */
    static int run(Configuration settings) throws Exception {
        FileSystem.initialize(settings, PluginUtils.createPluginManagerFromRootFolder(settings));
        PackagedProgram job =
                PackagedProgram.newBuilder()
                        .setConfiguration(settings)
                        .setEntryPointClassName(Job.class.getName())
                        .build();
        configureExecution(settings, job);
        // the process's own end closes it
        Manager manager = new Manager(settings, job);
        try {
            manager.startCluster();
        } catch (ClusterEntrypointException notStarted) {
            LOG.error("the job manager could not be started", notStarted);
            return STARTUP_FAILURE_RETURN_CODE;
        }
        return manager.getTerminationFuture().get().processExitCode();
    }
}
