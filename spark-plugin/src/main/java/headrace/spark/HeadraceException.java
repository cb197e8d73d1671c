package headrace.spark;

import java.io.IOException;

/** What a service of Headrace says that it cannot do, why it cannot be asked, or what is wrong with rows. */
public final class HeadraceException extends IOException {
  private static final long serialVersionUID = 1;

  private final String code;
  private final String requestId;

  public HeadraceException(String code, String message, String requestId) {
    super(message);
    this.code = code;
    this.requestId = requestId;
  }

  /** What went wrong, by a word that does not change: {@code NOT_FOUND}, {@code BUSY} and the like. */
  public String code() {
    return code;
  }

  /** Names the call in the service's log; empty if there was none. */
  public String requestId() {
    return requestId;
  }
}
