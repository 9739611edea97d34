// Ids of tsid-creator, as peers.py asks for them.  The variable TSIDCREATOR_NODE, which
// the package reads itself, gives the process its node.

import com.github.f4b6a3.tsid.TsidCreator;
import java.util.Scanner;

public class PeerTsid {
    public static void main(String[] arguments) {
        for (Scanner in = new Scanner(System.in); in.hasNextInt(); ) {
            long[] ids = new long[in.nextInt()];
            for (int i = 0; i < ids.length; i++) ids[i] = TsidCreator.getTsid().toLong();
            StringBuilder out = new StringBuilder();
            for (long id : ids) out.append(id).append('\n');
            System.out.print(out.append(".\n"));
            System.out.flush();
        }
    }
}
