import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/** Copies a folder of jars without the native libraries of systems that an image cannot be. */
final class Slim {
    private static final Pattern NATIVE = Pattern.compile("\\.(so|dll|dylib|jnilib|a)$");
    private static final Pattern OURS =
            Pattern.compile("(?i)linux.*(x86_64|amd64|aarch_?64)|linux64\\.so$");
    private static final Pattern OTHERS = Pattern.compile("(?i)musl|android");

    public static void main(String[] args) throws IOException {
        Path to = Files.createDirectories(Path.of(args[1]));
        try (Stream<Path> jars = Files.list(Path.of(args[0]))) {
            for (Path jar : (Iterable<Path>) jars::iterator) {
                copy(jar, to.resolve(jar.getFileName()));
            }
        }
    }

    private static void copy(Path from, Path to) throws IOException {
        try (var in = new ZipInputStream(Files.newInputStream(from));
                var out = new ZipOutputStream(Files.newOutputStream(to))) {
            for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
                if (isWanted(entry.getName())) {
                    var copy = new ZipEntry(entry.getName());
                    copy.setTime(entry.getTime());
                    out.putNextEntry(copy);
                    in.transferTo(out);
                }
            }
        }
    }

    private static boolean isWanted(String name) {
        return !NATIVE.matcher(name).find()
                || OURS.matcher(name).find() && !OTHERS.matcher(name).find();
    }
}
